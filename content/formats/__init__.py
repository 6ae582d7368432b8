"""Exchange formats: tab-separated import and export.

Begin with `import_plan`.
"""
