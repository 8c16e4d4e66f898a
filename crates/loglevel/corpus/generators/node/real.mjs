// Runs JavaScript's loggers and keeps what they wrote. Needs: pino pino-pretty winston bunyan log4js tslog.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { Writable } from "node:stream";

const require = createRequire(process.cwd() + "/");
const [messagesFile, folder] = process.argv.slice(2);
const messages = fs.readFileSync(messagesFile, "utf8").trim().split("\n");
const N = 600;
const message = (i) => messages[(i * 7) % messages.length];

class Sink extends Writable {
  text = "";
  _write(chunk, _encoding, done) {
    this.text += chunk;
    done();
  }
  write(chunk) {
    this.text += chunk;
    return true;
  }
  take() {
    const text = this.text;
    this.text = "";
    return text;
  }
}

function save(name, rows) {
  const text = rows.map(([label, line]) => `${label}\t${line}\n`).join("");
  fs.writeFileSync(path.join(folder, `${name}.gz`), zlib.gzipSync(text, { level: 9 }));
}

function run(name, sink, labels, call) {
  const rows = [];
  for (let i = 0; i < N; i++) {
    call(i, i % labels.length, message(i));
    for (const line of sink.take().replace(/\n$/, "").split("\n")) rows.push([labels[i % labels.length], line]);
  }
  save(name, rows);
}

const six = ["trace", "debug", "info", "warn", "error", "critical"];
const names = ["trace", "debug", "info", "warn", "error", "fatal"];

const pino = require("pino");
{
  const sink = new Sink();
  const log = pino({ level: "trace" }, sink);
  run("pino", sink, six, (i, k, text) => log[names[k]]({ reqId: i, res: { statusCode: 500, level: "error" } }, text));
  const pretty = require("pino-pretty").prettyFactory({ colorize: false });
  const raw = new Sink();
  const source = pino({ level: "trace" }, raw);
  run("pino-pretty", sink, six, (i, k, text) => {
    source[names[k]](i % 3 ? {} : { n: i }, text);
    sink.write(pretty(raw.take()));
  });
}
{
  const sink = new Sink();
  const log = require("bunyan").createLogger({ name: "app", level: "trace", stream: sink });
  run("bunyan", sink, six, (i, k, text) => log[names[k]]({ n: i }, text.replaceAll("%", "percent")));
}
{
  const winston = require("winston");
  const levels = ["silly", "debug", "verbose", "info", "warn", "error"];
  const labels = ["trace", "debug", "debug", "info", "warn", "error"];
  const make = (format) => {
    const sink = new Sink();
    const log = winston.createLogger({ level: "silly", format, transports: [new winston.transports.Stream({ stream: sink })] });
    return [sink, (i, k, text) => log.log(levels[k], text, i % 2 ? { n: i } : undefined)];
  };
  const f = winston.format;
  for (const [name, format] of [
    ["winston-json", f.json()],
    ["winston-timestamp", f.combine(f.timestamp(), f.json())],
    ["winston-simple", f.simple()],
    ["winston-color", f.combine(f.colorize(), f.simple())],
  ]) {
    const [sink, call] = make(format);
    run(name, sink, labels, call);
  }
}
{
  const log4js = require("log4js");
  const sink = new Sink();
  log4js.configure({
    appenders: { out: { type: { configure: (_c, layouts) => (event) => sink.write(layouts.basicLayout(event) + "\n") } } },
    categories: { default: { appenders: ["out"], level: "trace" } },
  });
  const log = log4js.getLogger();
  run("log4js", sink, six, (_i, k, text) => log[names[k]](text.replaceAll("%", "percent")));
}
