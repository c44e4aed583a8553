// The methods by which notifications reach a person, and what each adds to a registration.

import { address } from "./notes.js"
import { Problem } from "./signer.js"

/** How long a browser may take to reach its push service, in ms; without a connection some never respond. */
const patience = 45_000

const random = length => {
  const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
  // 256 is not a multiple of 56 letters, so bytes from 224 up are skipped.
  let text = ""
  while (text.length < length) {
    const [byte] = crypto.getRandomValues(new Uint8Array(1))
    if (byte < 224) text += letters[byte % 56]
  }
  return text
}

const server = text => {
  const url = address(text.trim())
  if (!url) throw new Problem("problemURL")
  return url.replace(/[?#].*$/, "").replace(/\/*$/, "")
}

/** All methods in display order. `target` makes the values that identify the device; the first of `modes` is the
    default. */
export const ways = {
  web: {
    platform: "web",
    name: "wayWeb",
    help: "wayWebHelp",
    modes: ["sealed", "alert", "nudge", "wake"],
    target: async ({ vapidKey }) => ({ subscription: (await subscribe(vapidKey)).toJSON() }),
  },
  ntfy: {
    platform: "ntfy",
    name: "wayNtfy",
    help: "wayNtfyHelp",
    modes: ["nudge", "alert", "wake"],
    target: async ({ known, fields }) => {
      const host = server(fields.ntfyServer)
      return { push_endpoint: known?.push_endpoint?.startsWith(`${host}/`) ? known.push_endpoint : `${host}/${random(24)}` }
    },
  },
  unifiedpush: {
    platform: "unifiedpush",
    name: "wayUnifiedpush",
    help: "wayUnifiedpushHelp",
    modes: ["nudge", "alert", "wake"],
    target: async ({ fields }) => {
      const url = address(fields.endpoint.trim())
      if (!url) throw new Problem("problemURL")
      return { push_endpoint: url }
    },
  },
  gotify: {
    platform: "gotify",
    name: "wayGotify",
    help: "wayGotifyHelp",
    modes: ["nudge", "alert", "wake"],
    target: async ({ fields }) => {
      const host = server(fields.gotifyServer)
      if (!fields.gotifyToken.trim()) throw new Problem("problemToken")
      return { push_endpoint: `${host}/message?token=${encodeURIComponent(fields.gotifyToken.trim())}` }
    },
  },
}

/** A new device's name. Two browsers of one person must not share a name. */
export const deviceName = way => `${way}-${random(10)}`

/** Why this browser cannot receive pushes; null if it can. */
export function obstacle() {
  if (!isSecureContext) return "problemInsecure"
  if (!("serviceWorker" in navigator) || !("PushManager" in globalThis) || !("Notification" in globalThis)) {
    const isApple = /iP(hone|ad|od)/.test(navigator.userAgent) || (navigator.platform === "MacIntel" && navigator.maxTouchPoints > 1)
    return isApple ? "problemHomeScreen" : "problemNoPush"
  }
  return null
}

let installed
/** A Trusted Types policy, which the page's policy requires; not every browser supports it. */
let scripts

/** Installs the service worker once and returns its registration. */
export const installedWorker = () =>
  (installed ??= install().catch(error => {
    installed = undefined
    throw error
  }))

async function install() {
  const policy = (scripts ??= globalThis.trustedTypes?.createPolicy?.("worker", { createScriptURL: url => url }))
  const url = policy?.createScriptURL("worker.js") ?? "worker.js"
  const registration = await navigator.serviceWorker.register(url, { type: "module", updateViaCache: "none" })
  await navigator.serviceWorker.ready
  return registration
}

/** Asks for permission to show notifications. Browsers require a recent click. */
export async function permit() {
  const problem = obstacle()
  if (problem) throw new Problem(problem)
  const permission = await Notification.requestPermission()
  if (permission !== "granted") throw new Problem(permission === "denied" ? "problemDenied" : "problemDismissed")
}

const base64url = buffer =>
  btoa(String.fromCharCode(...new Uint8Array(buffer ?? new ArrayBuffer(0)))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")

/** The browser's subscription; null if there is none. */
export async function currentSubscription() {
  if (obstacle()) return null
  const registration = await navigator.serviceWorker.getRegistration("./")
  const subscription = await registration?.pushManager.getSubscription()
  return subscription ? { endpoint: subscription.endpoint, key: base64url(subscription.options?.applicationServerKey), subscription } : null
}

async function subscribe(vapidKey) {
  if (!vapidKey) throw new Problem("problemNoWeb")
  // Older browsers without module workers refuse it.
  const { pushManager } = await installedWorker().catch(() => { throw new Problem("problemNoPush") })
  const current = await currentSubscription()
  if (current?.key === vapidKey) return current.subscription
  // Browsers refuse a second key while a subscription for the first exists.
  await current?.subscription.unsubscribe()
  let timer
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Problem("problemSubscribe")), patience)
  })
  try {
    return await Promise.race([pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: vapidKey }), silence])
  } catch {
    throw new Problem("problemSubscribe")
  } finally {
    clearTimeout(timer)
  }
}
