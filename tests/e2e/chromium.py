"""A browser without a window, on a profile of its own that is thrown away."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVER = "chromedriver"

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--no-first-run",
)


def lacking() -> str:
    """What a browser test needs and this machine has not; empty where it has all."""
    browser = any(map(shutil.which, BROWSERS))
    named = [name for name, there in (("Chromium", browser), (DRIVER, shutil.which(DRIVER))) if not there]
    return f"no {' and no '.join(named)} (on Debian: apt-get install chromium chromium-driver)" if named else ""


@contextmanager
def chromium(width: int = 1280, height: int = 1000, scheme: str = "light") -> Iterator[Any]:
    """A driver whose window has this size in CSS pixels. scheme: that the reader prefers, light or dark."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = next(found for found in map(shutil.which, BROWSERS) if found)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(prefix="spotdiff-chromium-", ignore_cleanup_errors=True) as profile:
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which(DRIVER)))
        try:
            driver.set_page_load_timeout(120)
            driver.set_script_timeout(120)
            resize(driver, width, height, scheme)
            yield driver
        finally:
            driver.quit()


def resize(driver: Any, width: int, height: int, scheme: str = "light") -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def open_report(driver: Any, file: Any) -> None:
    """Load a report from disk and wait until its questions can be browsed."""
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get(file.as_uri())
    WebDriverWait(driver, 120).until(
        lambda loaded: loaded.execute_script("return document.documentElement.dataset.ready === 'true'")
    )
