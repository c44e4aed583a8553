// Previews a push as the receiver shows it, from the request itself.

import { element } from "./dom.js"

const parsed = text => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const words = value => (typeof value === "string" ? value : value === undefined || value === null ? "" : String(value))

/** A placeholder for a localized text of the app, which only iOS can resolve. */
const localized = (key, values) => (key ? `⟨${key}${Array.isArray(values) && values.length ? `: ${values.join(", ")}` : ""}⟩` : "")

const readers = {
  ios: ({ aps = {} }) => {
    const alert = typeof aps.alert === "string" ? { body: aps.alert } : aps.alert
    if (!alert) return null
    return {
      title: words(alert.title) || localized(alert["title-loc-key"], alert["title-loc-args"]), subtitle: words(alert.subtitle),
      body: words(alert.body) || localized(alert["loc-key"], alert["loc-args"]),
    }
  },
  android: ({ message = {} }) => {
    const shown = { ...message.data, ...message.notification, ...message.android?.notification }
    return shown.title || shown.body ? { title: words(shown.title), body: words(shown.body), buttons: buttons(parsed(shown.actions)) } : null
  },
  web: object => shownByBrowser(object.notification ?? object),
  unifiedpush: object => shownByBrowser(object.notification ?? object),
  ntfy: object => ({ title: words(object.title), body: words(object.message), tags: object.tags, priority: object.priority, topic: words(object.topic), buttons: buttons(object.actions) }),
  gotify: object => ({ title: words(object.title), body: words(object.message) }),
  telegram: object => ({ title: "", body: words(object.text).replace(/<\/?(b|i|a|code|pre)\b[^>]*>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&") }),
}

const shownByBrowser = object => (object.title || object.body ? { title: words(object.title), body: words(object.body), buttons: buttons(object.actions) } : null)

const buttons = actions => (Array.isArray(actions) ? actions.map(action => words(action?.label ?? action?.title)).filter(Boolean) : [])

/** The visible parts of a delivery; null if it shows nothing. */
export function shown(platform, delivery) {
  const object = parsed(delivery.decrypted ?? delivery.body ?? "")
  if (!object || typeof object !== "object") return null
  const read = readers[platform] ?? (other => (other.title || other.body || other.text || other.message ? { title: words(other.title), body: words(other.body ?? other.text ?? other.message) } : null))
  let found = null
  try {
    found = read(object)
  } catch {
    // Rules can produce a payload that no receiver could show.
  }
  return found && (found.title || found.body) ? found : null
}

// MARK: Pictures

const line = (className, text) => (text ? element("div", { className, textContent: text }) : null)

const row = names => (names?.length ? element("div", { className: "shown-buttons" }, names.map(name => element("span", { textContent: name }))) : null)

const pictures = {
  ios: ({ title, subtitle, body }, say) =>
    element("div", { className: "device iphone" },
      element("div", { className: "island" }), element("div", { className: "clock", textContent: "9:41" }),
      element("div", { className: "banner" },
        element("div", { className: "app-icon", textContent: "N" }),
        element("div", { className: "banner-words" },
          element("div", { className: "banner-head" }, line("title", title || say("appName")), line("moment", say("justNow"))), line("title second", subtitle), line("text", body)))),
  android: ({ title, body, buttons: names }, say) =>
    element("div", { className: "device pixel" },
      element("div", { className: "clock", textContent: "9:41" }),
      element("div", { className: "banner" },
        element("div", { className: "app-icon", textContent: "N" }),
        element("div", { className: "banner-words" },
          line("moment", `${say("appName")} · ${say("justNow")}`), line("title", title), line("text", body), row(names)))),
  web: ({ title, body, buttons: names }, say) =>
    element("div", { className: "device desktop" },
      element("div", { className: "banner" },
        element("div", { className: "banner-head" }, element("span", { className: "app-icon", textContent: "N" }), line("moment", "app.example.com"), element("span", { className: "cross", textContent: "×" })),
        line("title", title || say("appName")), line("text", body), row(names))),
  ntfy: ({ title, body, tags, priority, topic, buttons: names }, say) =>
    element("div", { className: "device topic" },
      element("div", { className: "bar-top", textContent: topic || "ntfy" }),
      element("div", { className: "banner" },
        element("div", { className: "moment" }, say("justNow"), priority && priority !== 3 ? ` · ${say("priority", { n: priority })}` : ""),
        line("title", title), line("text", body), tags?.length ? line("moment", say("tags", { tags: tags.join(", ") })) : null, row(names))),
  other: ({ title, body, buttons: names }) => element("div", { className: "device plain-card" }, element("div", { className: "banner" }, line("title", title), line("text", body), row(names))),
}

const alike = { unifiedpush: "android" }

/** Why no push is sent (the router's message); undefined if one is. */
export const reason = ({ error, nothing_goes_out: nothing }) => error ?? nothing

/** Draws the push as the receiver shows it, and describes parts that are not visible. */
export function preview(platform, delivery, { say, phrase, router }) {
  const why = reason(delivery)
  const found = why ? null : shown(platform, delivery)
  if (!found) {
    const silent = delivery.stream ? say("overStream", { host: delivery.stream }) : say("silentPush")
    return element("div", { className: "device nothing" }, element("p", {}, why ? phrase("nothingGoesOut", { reason: router.say(why.replace(/^not sent: /, ""), delivery.says) }) : silent))
  }
  return (pictures[platform] ?? pictures[alike[platform]] ?? pictures.other)(found, say)
}
