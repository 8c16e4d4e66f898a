"""What the generators share: the messages, and the writer of one labelled file.

A corpus file is gzip of lines `LEVEL<TAB>LINE`; continuation lines carry the level of their record.
"""

import gzip
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MESSAGES = open(os.path.join(HERE, "messages.txt"), encoding="utf-8").read().split("\n")[:-1]


def write(folder, name, lines):
    os.makedirs(folder, exist_ok=True)
    text = "".join(f"{label}\t{line}\n" for label, line in lines)
    # Tracebacks name files; where they lie on the machine that ran this says nothing.
    text = text.replace(HERE, "/srv/app").replace(sys.prefix, "/usr")
    with open(os.path.join(folder, name + ".gz"), "wb") as out:
        with gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=9, mtime=0) as packed:
            packed.write(text.encode("utf-8", "surrogateescape"))
