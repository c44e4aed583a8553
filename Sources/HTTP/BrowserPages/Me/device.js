// The card of one device: problems, results of its pushes, and actions.

import { checked, choice, element } from "./dom.js"
import { signals } from "./notes.js"

const modes = ["wake", "nudge", "sealed", "alert"]

const later = stamp => stamp && new Date(stamp) > new Date()

/** Reasons why a push may not arrive, the most likely first; each is a list of texts and nodes. */
export function obstacles(device, { say, router, when }) {
  const { last_error: error, last_success: success, pace, preferences } = device
  const found = []
  if (device.reason) found.push([say("whySilence"), " ", router.say(device.reason, device.reason_message)])
  if (error && (!success || error.at > success.at)) {
    found.push([say(`error_${error.outcome}`) || say("whyError"), " ", ...router.answer(error.outcome, error.status, error.reason), " ", when(error.at)])
  }
  if (device.paused_until) found.push([say("whyPaused"), " ", when(device.paused_until)])
  if (device.queue_pause) found.push([say("whyQueue"), " ", router.say(device.queue_pause, device.pause_message)])
  for (const held of device.held) found.push([say("whyHeld", { n: held.count }), " ", router.held(held.words, { reason: held.reason, next_at: held.until })])
  if (device.held.length === 0 && (pace?.reason || later(pace?.next_push_at))) {
    found.push([say("whyPace"), " ", pace.reason ? router.hold(pace.reason, pace.held_by) : null, " ", later(pace.next_push_at) ? when(pace.next_push_at) : null])
  }
  if (device.waiting) found.push([say("whyWaiting", { n: device.waiting })])
  const off = signals.filter(name => !device.signals.includes(name))
  if (off.length > 0 && device.signals.length > 0) found.push([say("whyOff"), " ", off.map(name => say(`signal_${name}`)).join(", "), "."])
  const asked = (preferences?.filters ?? []).filter(filter => filter.is_active).map(filter => filter.name)
  if (asked.length > 0) found.push([say("whyFilters"), " ", element("code", { className: "value", textContent: asked.join(", ") }), "."])
  return found
}

const fact = (name, ...value) => element("div", {}, element("dt", { textContent: name }), element("dd", {}, ...value))

function facts(device, { say, when }) {
  const { last_success: success, pace, preferences } = device
  const quiet = preferences?.quiet
  const cap = preferences?.daily_cap?.in_force
  return element("dl", { className: "facts" },
    fact(say("factLast"), success ? when(success.at) : say("never")),
    fact(say("factMode"), say(`mode_${device.mode}`), device.is_default_mode ? ` (${say("byDefault")})` : ""),
    fact(say("factSignals"), device.signals.length ? device.signals.map(name => say(`signal_${name}`) || name).join(", ") : say("none")),
    quiet ? fact(say("factQuiet"), `${quiet.start} – ${quiet.end} (${quiet.tz})`) : null,
    pace?.pushes_today !== undefined ? fact(say("factToday"), cap ? say("ofCap", { n: pace.pushes_today, cap }) : String(pace.pushes_today)) : null,
    preferences?.locale ? fact(say("factLanguage"), element("code", { className: "value", textContent: preferences.locale })) : null,
    fact(say("factRegistered"), when(device.registered_at)))
}

/** The form for a device's settings; it has only what the person can see. */
function form(device, { say }, save) {
  const name = part => `${part}-${device.id}`
  const quiet = device.preferences?.quiet
  const time = (part, value) => element("input", { type: "time", id: name(part), value })
  const isQuiet = element("input", { type: "checkbox", id: name("quiet"), checked: Boolean(quiet) })
  const start = time("start", quiet?.start ?? "22:00")
  const end = time("end", quiet?.end ?? "07:00")
  const hours = element("div", { className: "row", hidden: !quiet },
    element("div", { className: "field" }, element("label", { htmlFor: start.id, textContent: say("quietStart") }), start),
    element("div", { className: "field" }, element("label", { htmlFor: end.id, textContent: say("quietEnd") }), end))
  isQuiet.onchange = () => { hours.hidden = !isQuiet.checked }
  const submit = event => {
    event.preventDefault()
    const wishes = { filters: Object.fromEntries(signals.map(signal => [signal, checked(name("signal")).includes(signal)])) }
    const mode = checked(name("mode"))[0]
    if (mode && mode !== device.mode) wishes.mode = mode
    if (isQuiet.checked) wishes.quiet = { start: start.value, end: end.value, tz: quiet?.tz ?? new Intl.DateTimeFormat().resolvedOptions().timeZone }
    else if (quiet) wishes.quiet = null
    save(wishes)
  }
  return element("form", { className: "change", onsubmit: submit, noValidate: true },
    element("fieldset", {}, element("legend", { textContent: say("signalsLegend") }),
      element("div", { className: "choices two" },
        signals.map(signal => choice("checkbox", name("signal"), signal, say(`signal_${signal}`), "", device.signals.includes(signal))))),
    element("fieldset", {}, element("legend", { textContent: say("modeLegend") }),
      element("div", { className: "choices" },
        modes.map(mode => choice("radio", name("mode"), mode, say(`mode_${mode}`), say(`mode_${mode}_help`), device.mode === mode)))),
    element("fieldset", {}, element("legend", { textContent: say("quietLegend") }),
      element("div", { className: "choices" }, element("label", { className: "choice" }, isQuiet, element("span", { textContent: say("quietOn") }))), hours),
    element("button", { type: "submit", className: "main", textContent: say("save") }),
    element("p", { className: "help", textContent: say("saveHelp") }))
}

/** The card. `actions` has `test`, `change` and `remove`. */
export function deviceCard(device, words, actions) {
  const { say } = words
  const name = device.name || say("device")
  const found = obstacles(device, words)
  const button = (key, act) => element("button", { type: "button", textContent: say(key), "aria-label": say(`${key}Of`, { name }), onclick: act })
  const sure = element("p", { className: "notice warn sure", hidden: true },
    say("removeSure"), " ",
    element("button", { type: "button", textContent: say("removeYes"), onclick: () => actions.remove(device) }))
  const remove = button("remove", () => {
    sure.hidden = !sure.hidden
    if (!sure.hidden) sure.querySelector("button").focus()
  })
  return element("article", { className: "card device", "aria-label": name },
    element("h3", {}, name, " ", element("small", { textContent: device.app === "default" ? device.platform : `${device.platform} · ${device.app}` })),
    found.length === 0
      ? element("p", { className: "notice", textContent: say("nothingInTheWay") })
      : element("div", { className: "notice warn" }, element("p", { textContent: say("inTheWay") }), element("ul", {}, found.map(each => element("li", {}, each)))),
    facts(device, words),
    element("p", { className: "buttons" }, button("test", () => actions.test(device)), remove),
    sure,
    element("details", {}, element("summary", { textContent: say("change") }), form(device, words, wishes => actions.change(device, wishes))))
}
