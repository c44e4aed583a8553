// Turns a push into a notification and a tap target. Pure functions on data; all content of a message ends up as text
// or as an https address.

import { browserLanguage, textIn, texts } from "./texts.js"

// MARK: Names of events and people (NIP-19)

const alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

const checksum = values => {
  const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]
  let sum = 1
  for (const value of values) {
    const top = sum >>> 25
    sum = ((sum & 0x1ffffff) << 5) ^ value
    for (let bit = 0; bit < 5; bit += 1) if ((top >>> bit) & 1) sum ^= generators[bit]
  }
  return sum
}

const bech32 = (prefix, bytes) => {
  const words = []
  let buffer = 0
  let bits = 0
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      words.push((buffer >>> bits) & 31)
    }
    buffer &= 0xff
  }
  if (bits > 0) words.push((buffer << (5 - bits)) & 31)
  const codes = [...prefix].map(letter => letter.charCodeAt(0))
  const expanded = [...codes.map(code => code >>> 5), 0, ...codes.map(code => code & 31)]
  const sum = checksum([...expanded, ...words, 0, 0, 0, 0, 0, 0]) ^ 1
  for (let index = 0; index < 6; index += 1) words.push((sum >>> (5 * (5 - index))) & 31)
  return `${prefix}1${words.map(word => alphabet[word]).join("")}`
}

const isHex = text => typeof text === "string" && /^[0-9a-f]{64}$/.test(text)
const bytes = hex => hex.match(/../g).map(pair => Number.parseInt(pair, 16))
export const npub = key => bech32("npub", bytes(key))
export const note = id => bech32("note", bytes(id))
export const nevent = (id, author) => bech32("nevent", [0, 32, ...bytes(id), ...(isHex(author) ? [2, 32, ...bytes(author)] : [])])

// MARK: Clients

export const clients = [
  { id: "njump", name: "njump.me", event: "https://njump.me/{nevent}", person: "https://njump.me/{npub}", home: "https://njump.me/" },
  {
    id: "primal", name: "Primal", event: "https://primal.net/e/{note}", person: "https://primal.net/p/{npub}",
    home: "https://primal.net/notifications", messages: "https://primal.net/dms",
  },
  {
    id: "coracle", name: "Coracle", event: "https://coracle.social/{nevent}", person: "https://coracle.social/{npub}",
    home: "https://coracle.social/notifications",
  },
  {
    id: "snort", name: "Snort", event: "https://snort.social/{nevent}", person: "https://snort.social/{npub}",
    home: "https://snort.social/notifications", messages: "https://snort.social/messages",
  },
  {
    id: "nostrudel", name: "noStrudel", event: "https://nostrudel.ninja/n/{nevent}", person: "https://nostrudel.ninja/u/{npub}",
    home: "https://nostrudel.ninja/notifications", messages: "https://nostrudel.ninja/messages",
  },
  { id: "iris", name: "Iris", event: "https://iris.to/{note}", person: "https://iris.to/{npub}", home: "https://iris.to/notifications" },
]

// The kinds of each signal: made by contrib/update-docs.
const kinds = {
  dm: [4, 14, 1059, 21059],
  mention: [1, 1111, 1808],
  reply: [1, 1111, 1808],
  reaction: [7],
  repost: [6, 16, 1809],
  follow: [3],
  zap: [9735],
}
// MARK: Tap

export const signals = Object.keys(kinds)
const isAbout = (kind, ...names) => names.some(name => kinds[name].includes(kind))

/** An https or http address as text, or null. */
export const address = text => {
  if (typeof text !== "string" || text.length > 2048) return null
  try {
    const url = new URL(text)
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null
  } catch {
    return null
  }
}

const placeholders = /\{(nevent|note|npub|id)\}/

/** Whether a person may enter this address of a client. */
export const isTemplate = text => placeholders.test(text) && address(text) !== null

/** The client that `state` names; null to use the notification's. */
const client = state => {
  if (state.client === "own" && isTemplate(state.template ?? "")) {
    return { event: state.template, home: new URL("/", address(state.template)).href }
  }
  return clients.find(({ id }) => id === state.client) ?? null
}

const fill = (template, names) => {
  let isComplete = true
  const text = template.replace(new RegExp(placeholders, "g"), (_, name) => {
    isComplete &&= Boolean(names[name])
    return names[name] ?? ""
  })
  return isComplete ? address(text) : null
}

/** Where a tap leads: a rule's target for this event, else the person's client, else the operator's default. */
const target = (data, navigate, state) => {
  const chosen = client(state)
  if (address(data.url)) return address(data.url)
  if (!chosen) return address(navigate)
  const about = isAbout(data.kind, "reaction", "repost", "zap") && isHex(data.referenced_event_id) ? data.referenced_event_id : data.event_id
  const names = {}
  if (isHex(data.author_pubkey)) names.npub = npub(data.author_pubkey)
  if (isHex(about)) {
    const author = about === data.event_id ? data.author_pubkey : undefined
    Object.assign(names, { id: about, note: note(about), nevent: nevent(about, author) })
  }
  const home = address(chosen.home)
  if (isAbout(data.kind, "dm") || data.t === "dm") return address(chosen.messages) ?? home
  if (isAbout(data.kind, "follow") && chosen.person && names.npub) return fill(chosen.person, names)
  return fill(chosen.event, names) ?? home
}

// MARK: Notifications

const text = (value, limit) => (typeof value === "string" ? [...value].slice(0, limit).join("") : "")
const isObject = value => typeof value === "object" && value !== null && !Array.isArray(value)
const isCount = value => Number.isSafeInteger(value) && value > 0

/** The text for `n` events of one signal. */
const count = (signal, n, language) => textIn(language, `notes_${signals.includes(signal) ? signal : "any"}`, { n })

/** Members of the browser's notification that a rule may set, with their types. */
const passed = {
  dir: value => ["auto", "ltr", "rtl"].includes(value),
  lang: value => typeof value === "string" && value.length < 36,
  image: value => address(value) !== null,
  icon: value => address(value) !== null,
  badge: value => address(value) !== null,
  vibrate: value => Array.isArray(value) && value.length <= 32 && value.every(Number.isSafeInteger),
  timestamp: value => Number.isSafeInteger(value),
  renotify: value => typeof value === "boolean",
  silent: value => typeof value === "boolean",
  requireInteraction: value => typeof value === "boolean",
}

const visible = (message, shown, state, language) => {
  const data = isObject(shown.data) ? shown.data : {}
  const signal = text(message.t ?? data.t, 40)
  const n = isCount(message.n) ? message.n : 1
  const options = { icon: "icon.png", lang: language, body: text(shown.body, 1000) }
  for (const [name, isFine] of Object.entries(passed)) if (isFine(shown[name])) options[name] = shown[name]
  // The router may send a push twice: the shared tag makes the second replace the first.
  const tag = text(shown.tag, 200) || text(data.id, 200)
  if (tag) options.tag = tag
  // Browsers refuse these two together.
  if (!tag) delete options.renotify
  if (options.silent) delete options.vibrate
  const buttons = {}
  options.actions = []
  for (const button of Array.isArray(shown.actions) ? shown.actions.slice(0, 4) : []) {
    if (!isObject(button) || !text(button.action, 100) || !text(button.title, 100)) continue
    options.actions.push({
      action: text(button.action, 100),
      title: text(button.title, 100),
      ...(address(button.icon) ? { icon: address(button.icon) } : {}),
    })
    const own = Array.isArray(data.actions) ? data.actions.find(action => isObject(action) && action.id === button.action) : null
    buttons[text(button.action, 100)] = address(own?.url)
  }
  options.data = { signal, open: target({ t: signal, ...data }, shown.navigate, state), buttons }
  return { title: text(shown.title, 300) || count(n > 1 ? "any" : signal, n, language), options }
}

/** A notification for a push without texts. Pushes of one signal share a notification that counts them: `before`
    returns its current count. */
const wake = (message, state, language, before) => {
  const isBatch = message.t === "batch"
  const signal = isBatch ? "any" : text(message.t, 40) || "any"
  const n = (isCount(message.n) ? message.n : 1) + before(`wake-${signal}`)
  return {
    title: count(signal, n, language),
    options: {
      body: textIn(language, "notesBody"),
      icon: "icon.png",
      lang: language,
      tag: `wake-${signal}`,
      renotify: true,
      actions: [],
      data: { signal, n, open: target({ t: signal }, null, state), buttons: {} },
    },
  }
}

/** The notification for a message, which may be any JSON. `before` returns how many events the notification with a
    tag counts. */
export const notification = (message, state, before = () => 0) => {
  const language = state.language in texts ? state.language : browserLanguage()
  const known = isObject(message) ? message : {}
  if (isObject(known.notification) && !isObject(known.notification.data?.sealed)) {
    return visible(known, known.notification, state, language)
  }
  return wake(known, state, language, before)
}
