"""Runs Python's loggers and keeps what they wrote. Needs: structlog loguru python-json-logger ecs-logging uvicorn."""

import io
import logging
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from corpus import MESSAGES, write

N = 600
LEVELS = [logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL]
LABELS = ["debug", "info", "warn", "error", "critical"]
FOLDER = sys.argv[1]


def lines(label, text):
    return [(label, line) for line in text.rstrip("\n").split("\n")]


def std(name, formatter, trace=False):
    buffer = io.StringIO()
    handler = logging.StreamHandler(buffer)
    handler.setFormatter(formatter)
    logger = logging.getLogger("app.worker")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.DEBUG)
    out = []
    for i in range(N):
        error = None
        if trace and i % 10 == 3:
            try:
                {}["level=info"]
            except KeyError as caught:
                error = caught
        logger.log(LEVELS[i % 5], MESSAGES[i * 7 % len(MESSAGES)].replace("%", "%%"), exc_info=error)
        out += lines(LABELS[i % 5], buffer.getvalue())
        buffer.seek(0)
        buffer.truncate()
    write(FOLDER, name, out)


std("python-basic", logging.Formatter(logging.BASIC_FORMAT))
std("python-dash", logging.Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s"), trace=True)
std("python-bracket", logging.Formatter("[%(asctime)s] [%(process)d] [%(levelname)s] %(message)s", "%Y-%m-%d %H:%M:%S %z"))
std("python-space", logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"), trace=True)
std("python-padded", logging.Formatter("%(asctime)s %(levelname)-8s [%(name)s] %(message)s"))
std("python-celery", logging.Formatter("[%(asctime)s: %(levelname)s/%(processName)s] %(message)s"))

from pythonjsonlogger.json import JsonFormatter

std("python-json", JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s"), trace=True)

import ecs_logging

std("python-ecs", ecs_logging.StdlibFormatter(), trace=True)

from uvicorn.logging import DefaultFormatter

std("uvicorn", DefaultFormatter("%(levelprefix)s %(message)s", use_colors=False))
std("uvicorn-color", DefaultFormatter("%(levelprefix)s %(message)s", use_colors=True))

import structlog


def structured(name, renderer, stamp):
    buffer = io.StringIO()
    logger = structlog.wrap_logger(
        structlog.PrintLogger(buffer),
        processors=[structlog.processors.add_log_level, structlog.processors.TimeStamper(fmt=stamp), renderer],
    )
    out = []
    for i in range(N):
        method = [logger.debug, logger.info, logger.warning, logger.error, logger.critical][i % 5]
        method(MESSAGES[i * 7 % len(MESSAGES)], n=i, status="error")
        out += lines(LABELS[i % 5], buffer.getvalue())
        buffer.seek(0)
        buffer.truncate()
    write(FOLDER, name, out)


structured("structlog-console", structlog.dev.ConsoleRenderer(colors=False), "%Y-%m-%d %H:%M:%S")
structured("structlog-color", structlog.dev.ConsoleRenderer(colors=True), "iso")
structured("structlog-json", structlog.processors.JSONRenderer(), "iso")
structured("structlog-logfmt", structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]), "iso")

from loguru import logger as loguru


def guru(name, **options):
    buffer = io.StringIO()
    loguru.remove()
    loguru.add(buffer, level=0, **options)
    labels = ["trace", "debug", "info", "info", "warn", "error", "critical"]
    words = ["TRACE", "DEBUG", "INFO", "SUCCESS", "WARNING", "ERROR", "CRITICAL"]
    out = []
    for i in range(N):
        loguru.log(words[i % 7], MESSAGES[i * 5 % len(MESSAGES)].replace("{", "{{").replace("}", "}}"))
        out += lines(labels[i % 7], buffer.getvalue())
        buffer.seek(0)
        buffer.truncate()
    write(FOLDER, name, out)


guru("loguru", colorize=False)
guru("loguru-color", colorize=True)
guru("loguru-json", serialize=True)
