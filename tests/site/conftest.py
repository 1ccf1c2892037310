"""The site's tests open it in a browser, as those of the explorables do, which lie with these."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.import_plugin("tests.site.browser")
