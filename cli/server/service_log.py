"""The log of a service that a command starts."""

import os

from api import logs
from api.setting_sources import unknown_variables
from api.settings import SETTING_FORMATS, Settings

_log = logs.logger("settings")


def configure_log(settings: Settings) -> None:
    """Set up the log, and log each variable of the environment that looks like a setting and is none."""
    logs.configure(settings.log_level)
    for name in unknown_variables(os.environ, SETTING_FORMATS):
        _log.warning("unknown_variable", variable=name)
