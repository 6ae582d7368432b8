"""The parts shared by all commands: settings, output, exit codes and prompts.

Begin with `setup`.
"""
