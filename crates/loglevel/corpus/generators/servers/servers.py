"""Starts real servers on loopback, provokes them, and labels what they wrote by the documented place of the level.

Needs Debian's nginx-light redis-server postgresql apache2 haproxy ruby php-cli php-monolog elixir prometheus etcd-server
nats-server mariadb-server. A server that is missing or says nothing is left out.
"""

import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from corpus import MESSAGES, write

FOLDER = sys.argv[1]
TMP = tempfile.mkdtemp()
os.chmod(TMP, 0o777)
WORDS = {
    "debug": "debug", "info": "info", "notice": "notice", "warn": "warn", "warning": "warn", "error": "error", "err": "error",
    "crit": "critical", "critical": "critical", "emergency": "emergency", "alert": "alert", "emerg": "emergency", "fatal": "critical", "log": "info", "note": "notice", "dbg": "debug",
    "inf": "info", "wrn": "warn", "ftl": "critical", "trc": "trace", ".": "debug", "-": "debug", "*": "notice", "#": "warn",
}


def label(name, text, rule):
    rows, last = [], "unknown"
    for line in text.replace("\r", "").replace(TMP, "/var/lib/app").split("\n"):
        found = re.search(rule, line)
        if found:
            word = found.group(1).lower()
            # PostgreSQL adds these lines to the record above them.
            last = last if word in ("detail", "hint", "statement", "context") else WORDS.get(word, "unknown")
        elif not line.strip():
            continue
        else:
            continue
        rows.append((last, line))
    # Debug output of a server can run to many thousand lines; every seventh keeps the mix.
    rows = rows if len(rows) <= 3000 else rows[::7]
    if rows:
        write(FOLDER, name, rows)
    print(name, len(rows))


def serve(command, seconds=2.0, provoke=None, user=None, env=None):
    if not shutil.which(command[0]) and not os.path.exists(command[0]):
        return ""
    if user:
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] + command
    with open(os.path.join(TMP, "out"), "wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=TMP, env={**os.environ, **(env or {})})
        time.sleep(seconds)
        if provoke:
            provoke()
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(8)
        except subprocess.TimeoutExpired:
            child.kill()
    return open(os.path.join(TMP, "out"), encoding="utf-8", errors="surrogateescape").read()


def shell(command):
    subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30)


def nginx():
    conf = os.path.join(TMP, "nginx.conf")
    open(conf, "w").write(
        f"daemon off; error_log {TMP}/err.log debug; pid {TMP}/n.pid; events {{}}\n"
        f"http {{ access_log {TMP}/acc.log; server {{ listen 127.0.0.1:18081; root {TMP}; location /p {{ proxy_pass http://127.0.0.1:1; }} }} }}\n"
    )
    serve(["/usr/sbin/nginx", "-c", conf, "-p", TMP], 1, lambda: [shell(f"curl -s http://127.0.0.1:18081/{p}") for p in ["x", "p", "error?level=info"] * 60])
    label("nginx", open(f"{TMP}/err.log").read() if os.path.exists(f"{TMP}/err.log") else "", r"^\S+ \S+ \[(\w+)\]")


def redis():
    text = serve(["redis-server", "--port", "16379", "--loglevel", "debug", "--save", ""], 2, lambda: [shell("redis-cli -p 16379 bgsave") for _ in range(40)])
    label("redis", text, r"^\d+:[A-Z] \d+ \w+ \d+ [\d:.]+ ([.*#-]) ")


def postgres():
    binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not binaries:
        return
    bin, data = binaries[-1], os.path.join(TMP, "pg")
    shell(f"mkdir {data}; chown postgres {data}; setpriv --reuid=postgres --regid=postgres --clear-groups {bin}/initdb -D {data}")
    psql = f"psql -h 127.0.0.1 -p 15432 -U postgres -c "

    def provoke():
        for i in range(60):
            shell(psql + f"\"select {i}/0\"")
            shell(psql + "\"do \\$\\$ begin raise warning 'info: x'; raise log 'ERROR in text'; end \\$\\$\"")
            shell("psql -h 127.0.0.1 -p 15432 -U postgres -d missing -c 'select 1'")

    text = serve([f"{bin}/postgres", "-D", data, "-p", "15432", "-k", TMP, "-c", "log_min_messages=debug1", "-c", "log_connections=on"], 3, provoke, "postgres")
    label("postgres", text, r"^\S+ \S+ \w+ \[\d+\] (?:\S+@\S+ )?([A-Z]+)\d?:  ")


def apache():
    conf = os.path.join(TMP, "apache.conf")
    modules = "\n".join(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so" for m in ["mpm_event", "authz_core", "alias", "cgi"] if os.path.exists(f"/usr/lib/apache2/modules/mod_{m}.so"))
    open(conf, "w").write(f"ServerRoot {TMP}\nPidFile {TMP}/a.pid\n{modules}\nListen 127.0.0.1:18082\nServerName x\nErrorLog {TMP}/aerr.log\nLogLevel debug\nDocumentRoot {TMP}\n<Location /no>\nRequire all denied\n</Location>\n")
    serve(["/usr/sbin/apache2", "-f", conf, "-DFOREGROUND"], 1.5, lambda: [shell("curl -s http://127.0.0.1:18082/no/x") for _ in range(80)])
    label("apache", open(f"{TMP}/aerr.log").read() if os.path.exists(f"{TMP}/aerr.log") else "", r"^\[[^\]]+\] \[\w*:(\w+)\]")


def script(name, command, rule):
    if shutil.which(command[0]):
        label(name, subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", timeout=60).stdout, rule)


def ruby():
    program = """require 'logger'; l = Logger.new($stdout, progname: nil)
    m = File.read(ARGV[0]).split("\\n"); 500.times { |i| l.add(i % 5, m[i * 7 % m.size]) }"""
    script("ruby-logger", ["ruby", "-e", program, os.path.join(os.path.dirname(__file__), "..", "messages.txt")], r"^[A-Z], \[[^\]]+\] +(\w+) ")


def php():
    autoload = next(iter(glob.glob("/usr/share/php/Monolog/autoload.php")), None)
    if not autoload:
        return
    for name, formatter, rule in [("monolog", "LineFormatter", r"^\[[^\]]+\] app\.(\w+):"), ("monolog-json", "JsonFormatter", r'"level_name":"(\w+)"')]:
        program = f"""require '{autoload}'; $h = new Monolog\\Handler\\StreamHandler('php://stdout', 100); $h->setFormatter(new Monolog\\Formatter\\{formatter}());
        $l = new Monolog\\Logger('app', [$h]); $m = explode("\\n", trim(file_get_contents($argv[1]))); $v = ['debug','info','notice','warning','error','critical','alert','emergency'];
        for ($i = 0; $i < 480; $i++) {{ $l->log($v[$i % 8], $m[$i * 7 % count($m)], $i % 3 ? [] : ['n' => $i]); }}"""
        script(name, ["php", "-r", program, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "messages.txt")], rule)


def elixir():
    program = """require Logger; Logger.configure(level: :debug); m = String.split(File.read!(hd(System.argv())), "\\n", trim: true)
    for i <- 0..299 do Logger.log(Enum.at([:debug, :info, :warning, :error], rem(i, 4)), Enum.at(m, rem(i * 7, length(m)))) end; Process.sleep(500)"""
    if shutil.which("elixir"):
        path = os.path.join(TMP, "log.exs")
        open(path, "w").write(program)
        text = subprocess.run(["elixir", path, os.path.join(os.path.dirname(__file__), "..", "messages.txt")], capture_output=True, text=True, timeout=60)
        label("elixir", text.stdout + text.stderr, r"^\d\d:\d\d:[\d.]+ \[(\w+)\]")


def go_servers():
    open(os.path.join(TMP, "prom.yml"), "w").write("scrape_configs: [{job_name: x, scrape_interval: 1s, static_configs: [{targets: ['127.0.0.1:1']}]}]\n")
    label("prometheus", serve(["prometheus", "--config.file", f"{TMP}/prom.yml", "--storage.tsdb.path", f"{TMP}/tsdb", "--log.level=debug", "--web.listen-address=127.0.0.1:19090"], 6), r"level=(\w+) ")
    label("etcd", serve(["etcd", "--data-dir", f"{TMP}/etcd", "--logger=zap", "--log-level=debug", "--listen-client-urls=http://127.0.0.1:12379", "--advertise-client-urls=http://127.0.0.1:12379", "--listen-peer-urls=http://127.0.0.1:12380"], 4), r'"level":"(\w+)"')
    label("nats-server", serve(["nats-server", "-DV", "-a", "127.0.0.1", "-p", "14222"], 2), r"^\[\d+\] \S+ \S+ \[(\w+)\]")


def mariadb():
    data = os.path.join(TMP, "my")
    shell(f"mkdir {data}; chown mysql {data}; mysql_install_db --user=mysql --datadir={data}")
    label("mariadb", serve(["mariadbd", f"--datadir={data}", "--user=mysql", "--port=13306", "--bind-address=127.0.0.1", f"--socket={TMP}/my.sock", "--log-warnings=9"], 5), r"^\S+ +[\d:]+ \d+ \[(\w+)\]")


for step in [ruby, php, nginx, redis, apache, elixir, go_servers, postgres, mariadb]:
    try:
        step()
    except Exception as error:
        print(step.__name__, "failed:", error)
shutil.rmtree(TMP, ignore_errors=True)
