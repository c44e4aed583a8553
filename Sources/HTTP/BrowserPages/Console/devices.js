// The Devices screen: registered devices, results of their pushes, and actions.

import { ask, segment } from "./api.js"
import { element } from "./dom.js"

const page = 50

const push = ({ state, router, when }, { at, outcome, status, reason }) => [
  state(outcome === "delivered" ? "good" : outcome === "retry" ? "open" : "bad", router.word("word", outcome)), " ", ...router.answer(outcome, status, reason), " ", when(at),
]

/** Why a device gets no pushes; null if no reason is known. */
const standstill = (device, { say, router }) =>
  device.is_blocked ? say("deviceBlocked")
    : device.waits_for_code ? say("deviceWaits")
    : device.disabled_at ? say("deviceOff")
      : device.queue_pause ? router.say(device.queue_pause, device.pause_message)
        : device.signals.length === 0 ? say("deviceWantsNothing") : null

const link = (device, { say }) =>
  element("a", { href: `#devices/${device.device}`, textContent: String(device.device), "aria-label": say("deviceNumber", { n: device.device }) })

/** Actions for several devices; `chosen` holds their numbers. */
function bulk(chosen, { say, button, confirm, tell }, reload) {
  const each = async (work) => {
    let count = 0
    for (const number of [...chosen]) count += await work(`devices/${segment(number)}`)
    return count
  }
  const resend = async () => {
    if (!(await confirm(say("resendOfSure", { n: chosen.size }), "resend"))) return
    const n = await each(async path => (await ask(`${path}/resend`, { method: "POST" })).retried)
    tell(n === 0 ? say("nothingToResend") : say("resent", { n }))
  }
  const remove = async () => {
    if (!(await confirm(say("removeManySure", { n: chosen.size }), "remove", true))) return
    const n = await each(async path => (await ask(path, { method: "DELETE" })) && 1)
    tell(say("removedMany", { n }))
    reload()
  }
  const words = element("span", { role: "status" })
  const bar = element("p", { className: "buttons bulk", hidden: true }, words, button("resend", resend), button("remove", remove, { className: "danger" }))
  return {
    bar,
    write: () => {
      bar.hidden = chosen.size === 0
      words.textContent = say("chosen", { n: chosen.size })
    },
  }
}

function list(place, context) {
  const { parts, parameter, go, can } = context
  const { say, named, when, key } = parts
  const chosen = new Set()
  const { bar, write } = bulk(chosen, parts, () => list(place, context))
  const box = device => element("input", {
    type: "checkbox", checked: chosen.has(device.device), "aria-label": say("choose", { n: device.device }),
    onchange: ({ target }) => {
      if (target.checked) chosen.add(device.device)
      else chosen.delete(device.device)
      write()
    },
  })
  const account = element("input", { type: "search", value: parameter.get("account") ?? "", autocomplete: "off", spellcheck: false, placeholder: "npub1…" })
  const search = element("form", { className: "search", role: "search" }, parts.field("account", account), element("button", { type: "submit", textContent: say("search") }))
  search.onsubmit = event => {
    event.preventDefault()
    go("devices", account.value.trim() ? { account: account.value.trim() } : {})
  }
  const content = element("div", {}, parts.notice("", say("loading")))
  const more = element("p", { className: "buttons" })
  place.replaceChildren(parts.heading("devices"), search, bar, content, more)
  const devices = []
  const load = async after => {
    const answer = await ask("devices", { query: { account: account.value.trim(), after, limit: page } })
    devices.push(...answer.devices)
    content.replaceChildren(
      devices.length === 0 ? parts.notice("warn", say(account.value ? "noDevicesOf" : "noDevices"))
        : element("div", { className: "card" }, parts.table("devices", [
            ["number", device => (can("operate") ? [box(device), " ", link(device, parts)] : link(device, parts))],
            ["account", device => key(device.npub)],
            ["name", device => (device.name ? named(device.name) : null)],
            ["platform", device => `${device.platform}/${device.app}`],
            ["lastSuccess", device => (device.last_success ? when(device.last_success.at) : null)],
            ["lastError", device => (device.last_error ? push(parts, device.last_error) : null)],
            ["state", device => { const why = standstill(device, parts); return why ? parts.state("open", why) : parts.state("good", say("deviceInUse")) }],
          ], devices)),
      answer.waiting?.length ? parts.notice("warn", say("waitingRegistrations", { n: answer.waiting.length })) : "")
    more.replaceChildren(...(answer.next ? [parts.button("more", () => load(answer.next))] : []))
  }
  load().catch(error => content.replaceChildren(parts.problem(error)))
}

const outcomeWords = ({ phrase, code, router }, answer) =>
  phrase(`test_${answer.outcome}`, { said: router.answer(answer.outcome, answer.status, answer.reason), mode: code(answer.mode) })

function facts(device, parts) {
  const { say, named, code, router, when } = parts
  const wishes = device.wishes
  const none = say(device.is_traced ? "noneKnown" : "notTraced")
  return parts.facts([
    ["account", element("code", { className: "whole", textContent: device.npub })],
    ["name", device.name ? named(device.name) : "–"],
    ["platform", `${device.platform}/${device.app}`],
    ["mode", device.mode ? code(device.mode) : say("operatorsDefault")],
    ["wants", device.signals.length ? device.signals.map(signal => router.word("signal", signal)).join(", ") : say("nothing")],
    ["registered", when(device.registered_at)],
    device.disabled_at ? ["offSince", when(device.disabled_at)] : null,
    device.failing_since ? ["failingSince", when(device.failing_since)] : null,
    device.counts_until ? ["countsUntil", when(device.counts_until)] : null,
    ["lastSuccess", device.last_success ? when(device.last_success.at) : none],
    ["lastError", ...(device.last_error ? push(parts, device.last_error) : [none])],
    device.waiting === undefined ? null : ["inOutbox", String(device.waiting)],
    device.pace ? ["held", String(device.pace.held)] : null,
    device.pace?.pushes_today === undefined ? null : ["today", String(device.pace.pushes_today)],
    device.pace && !device.disabled_at ? ["nextPush", device.pace.next_push_at ? when(device.pace.next_push_at) : device.pace.reason ? "" : say("atOnce"), device.pace.reason ? [device.pace.next_push_at ? " – " : "", router.hold(device.pace.reason, device.pace.held_by)] : ""].flat() : null,
    wishes?.quiet ? ["quietHours", `${wishes.quiet.start} – ${wishes.quiet.end} (${wishes.quiet.tz})`] : null,
    wishes?.locale ? ["deviceLanguage", code(wishes.locale)] : null,
  ])
}

function show(place, { parts, can, go }, number) {
  const { say, button, confirm, tell, card } = parts
  const content = element("div", {}, parts.notice("", say("loading")))
  place.replaceChildren(element("div", { className: "screen-head" },
    element("h1", { textContent: say("deviceNumber", { n: number }) }), element("a", { href: "#devices", textContent: say("allDevices") })), content)
  const path = `devices/${segment(number)}`
  const answer = element("div", { role: "status" })
  const load = async () => {
    const device = await ask(path)
    const why = standstill(device, parts)
    const mode = parts.select([["", say("ownMode")], ...["wake", "nudge", "sealed", "alert"].map(name => [name, name])], "")
    const test = async () => {
      answer.replaceChildren(parts.notice("", say("testing")))
      try {
        const result = await ask(`${path}/test`, { method: "POST", query: { mode: mode.value } })
        answer.replaceChildren(parts.notice(result.outcome === "delivered" ? "" : "bad", ...outcomeWords(parts, result)),
          parts.facts([["delivery", element("code", { className: "whole", textContent: result.delivery })], ...result.reductions.map(less => ["reduced", parts.code(less.mode), " ", ...parts.router.answer("", less.status, less.reason)])]))
      } catch (error) {
        answer.replaceChildren(parts.problem(error))
      }
    }
    const resend = async () => {
      const { retried } = await ask(`${path}/resend`, { method: "POST", query: { dry_run: true } })
      if (retried === 0) return tell(say("nothingToResend"))
      if (!(await confirm(say("resendSure", { n: retried }), "resend"))) return
      await ask(`${path}/resend`, { method: "POST" })
      tell(say("resent", { n: retried }))
    }
    const enable = async () => {
      await ask(`${path}/enable`, { method: "POST" })
      tell(say("switchedOn", { n: number }))
      await load()
    }
    const remove = async () => {
      if (!(await confirm(say("removeSure", { n: number }), "remove", true))) return
      await ask(path, { method: "DELETE" })
      tell(say("removed", { n: number }))
      go("devices")
    }
    content.replaceChildren(
      why ? parts.notice("warn", why) : "",
      card("deviceTest", can("operate")
        ? element("div", {}, parts.field("mode", mode), element("p", { className: "buttons" }, button("sendTest", test, { className: "main" }), button("resend", resend), device.disabled_at ? button("switchOn", enable) : null, button("remove", remove, { className: "danger" })))
        : parts.notice("warn", say("needsOperate")), answer),
      card("deviceFacts", facts(device, parts)))
  }
  load().catch(error => content.replaceChildren(parts.problem(error)))
}

export function open(place, context) {
  const [number] = context.path
  if (number) show(place, context, number)
  else list(place, context)
}
