// The first screen: problems with fixes, traffic, and one line for each queue.

import { ask } from "./api.js"
import { element } from "./dom.js"
import { bars, sparkline } from "./sparkline.js"

const pause = 5_000
const kept = 120

/** Samples since the page was opened; they outlive the screen. */
const history = { events: [], pushes: [], waiting: [] }

const keep = (name, value) => {
  history[name].push(value)
  if (history[name].length > kept) history[name].shift()
}

const queueState = ({ say, code, state, when }, queue) => [
  state({ ok: "good", paused: "open", failed: "bad" }[queue.state] ?? "quiet", say(`queue_${queue.state}`) || queue.state),
  queue.reason === "no-transport" ? [" ", say("pause_no-plugin")] : queue.cause ? [" ", say(`pause_${queue.cause}`)] : null,
  queue.reason && queue.reason !== "no-transport" ? [" (", code(queue.reason), ")"] : null,
  queue.until ? [", ", say("until"), " ", when(queue.until)] : null,
  queue.paused_hosts ? element("small", { textContent: say("pausedHosts", { n: queue.paused_hosts }) }) : null,
].flat()

function issue({ code: name, message, params, fix, severity, member }, { say, router, code, state }) {
  return element("li", { className: severity === "error" ? "issue bad" : "issue open" },
    element("p", {}, state(severity === "error" ? "bad" : "open", say(severity === "error" ? "grave" : "look")), " ", element("strong", { textContent: say(`issue_${name}`) }), member ? [" ", code(member)] : null),
    element("p", {}, router.say(message, params, "issue")),
    element("p", { className: "remedy" }, element("span", { className: "quiet", textContent: say("remedy") }), " ", router.say(fix, params, "remedy")))
}

function figure(parts, key, value, name, more) {
  return element("div", { className: "figure" },
    element("span", { className: "name", textContent: parts.say(key) }),
    element("span", { className: "value", textContent: value }),
    more ? element("small", {}, more) : null,
    sparkline(history[name], parts.say("sparkOf", { name: parts.say(key), n: history[name].length })))
}

function figures(status, parts) {
  const { say, number, span } = parts
  const { latency, waiting } = status
  return element("div", { className: "figures" },
    figure(parts, "eventsPerSecond", number(status.events.per_second), "events", say("total", { n: number(status.events.total) })),
    figure(parts, "pushesPerSecond", number(status.pushes.per_second), "pushes",
      latency.p99_ms === undefined ? say("total", { n: number(status.pushes.total) }) : say("latency", { p50: number(latency.p50_ms), p99: number(latency.p99_ms) })),
    figure(parts, "waiting", number(waiting.deliveries), "waiting", waiting.oldest === undefined ? say("ofLimit", { n: number(waiting.limit) }) : say("oldest", { span: span(waiting.oldest) })))
}

/** Draws the status that the router returned. */
function write(place, status, days, parts) {
  const { say, named, code, when, span, size, number, card, table, notice } = parts
  const { relays, waiting } = status
  place.replaceChildren(
    card("issues", status.issues.length === 0
      ? notice("", say("nothingAmiss"))
      : element("ul", { className: "issues" }, status.issues.map(each => issue(each, parts)))),
    card("flow", figures(status, parts)),
    card("queues", status.queues.length === 0
      ? notice("warn", say("noQueues"))
      : table("queues", [
          ["queue", queue => [`${queue.platform}/`, element("wbr"), queue.app]],
          ["state", queue => queueState(parts, queue)],
          ["waitingShort", queue => number(queue.waiting)],
          ["inFlight", queue => number(queue.in_flight)],
          ["retrying", queue => number(queue.retrying)],
        ], status.queues),
      waiting.failed ? element("p", { className: "quiet" }, say("failedForGood", { n: waiting.failed }), " ", element("code", { textContent: "carillon queue list --failed" })) : null),
    days.length ? card("days", bars(days, say, number)) : null,
    card("machine", parts.facts([
      ["version", code(status.version)],
      ["upSince", when(status.started_at), ` (${span(status.uptime)})`],
      ["relays", say("relaysWords", { connected: relays.connected, waiting: relays.waiting + relays.connecting })],
      ["disk", say("diskWords", { used: size(status.disk.used), free: size(status.disk.free) })],
      ...status.filters.map(filter => ["filterDropped", code(filter.name), ` ${number(filter.dropped)}`]),
      ...status.credentials.map(credential => ["credential", code(`${credential.platform}/${credential.app}`), " ", named(credential.what), " ", when(credential.ends_at)]),
    ])))
}

export function open(place, { parts }) {
  const content = element("div", {}, parts.notice("", parts.say("loading")))
  place.replaceChildren(parts.heading("now"), content)
  let days = []
  let timer
  let isOpen = true
  const step = async () => {
    try {
      if (document.visibilityState === "visible" || !history.events.length) {
        const status = await ask("status")
        keep("events", status.events.per_second)
        keep("pushes", status.pushes.per_second)
        keep("waiting", status.waiting.deliveries)
        if (!isOpen) return
        write(content, status, days, parts)
      }
    } catch (error) {
      if (!isOpen) return
      content.replaceChildren(parts.problem(error))
    }
    if (isOpen) timer = setTimeout(step, pause)
  }
  const begin = async () => {
    const stats = await ask("stats", { query: { days: 14 } }).catch(() => null)
    days = stats?.rows ?? []
    await step()
  }
  begin()
  return () => {
    isOpen = false
    clearTimeout(timer)
  }
}
