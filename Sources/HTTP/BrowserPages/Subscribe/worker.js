// Shows pushes and opens their targets. It never has the person's key: signatures come from a remote signer if there is
// one, else from the page.

import { notification } from "./notes.js"
import { information, register, settings } from "./router.js"
import { disconnect, resume } from "./signer.js"
import * as storage from "./storage.js"
import { browserLanguage, textIn, texts } from "./texts.js"

const page = new URL("./", location.href).href

const pages = async () => (await clients.matchAll({ type: "window", includeUncontrolled: true })).filter(({ url }) => url.startsWith(page))

const tell = async message => {
  for (const client of await pages()) client.postMessage(message)
}

/** How many events the visible notifications count, by tag. */
const countsOnScreen = async () => {
  const counts = {}
  for (const { tag, data } of await registration.getNotifications()) if (tag && data?.n) counts[tag] = data.n
  return tag => counts[tag] ?? 0
}

/** The result of `work`, or undefined after a timeout. */
const within = (milliseconds, work) => Promise.race([work, new Promise(resolve => setTimeout(resolve, milliseconds))])

/** Shows a notification. Firefox silently holds back a persistent notification while too many others are shown,
    so the wait is limited. */
const show = (title, options) => within(3_000, registration.showNotification(title, options))

const receive = async data => {
  let message = null
  try {
    message = data?.json()
  } catch {
    // Not JSON: a push still arrived, and browsers penalize pushes that show nothing.
  }
  const state = await storage.read().catch(() => ({}))
  const { title, options } = notification(message, state, await countsOnScreen())
  await show(title, options)
  await storage.merge({ lastShown: Date.now() }).catch(() => {})
  await tell({ type: "shown", title, body: options.body, tag: options.tag ?? "" })
}

/** Registers a subscription at the router. A remote signer signs; throws if there is none, or if it does not. */
const tellRouter = async (state, router, subscription) => {
  if (!state.signer || !subscription) throw new Error("no signer")
  resume(state.signer, () => {})
  try {
    const { device, registeredAt, wishes } = state.ways.web
    const target = { ...wishes, subscription: subscription.toJSON() }
    const renewedAt = await register(router, state.person, device, target, registeredAt)
    const entry = { ...state.ways.web, registeredAt: renewedAt, endpoint: subscription.endpoint, router: router.pubkey }
    await storage.merge({ addressChanged: false, ways: { ...state.ways, web: entry } })
  } finally {
    disconnect()
  }
}

/** Renews a subscription that ended. */
const renew = async given => {
  const state = await storage.read()
  if (!state.ways?.web) return
  await storage.merge({ addressChanged: true })
  try {
    const [{ app }, router] = await Promise.all([settings(), information()])
    const applicationServerKey = router.apps[app]?.web?.vapid_public_keys?.[0]
    const subscription = given ?? (await within(20_000, registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey })))
    await tellRouter(state, router, subscription)
    return await tell({ type: "renewed" })
  } catch {
    // The person must confirm; the page then renews the registration.
  }
  // An open page shows it itself, even if notifications are held back or no longer allowed.
  await tell({ type: "renewal" })
  const language = state.language in texts ? state.language : browserLanguage()
  await show(textIn(language, "notesRenew"), {
    body: textIn(language, "notesRenewBody"),
    icon: "icon.png",
    lang: language,
    tag: "renewal",
    requireInteraction: true,
    data: { open: `${page}#renewal`, buttons: {} },
  })
}

/** Focuses the page if it is open; other targets open in a new window. */
const open = async url => {
  if (url.startsWith(page)) {
    const [client] = await pages()
    if (client) return client.focus()
  }
  return clients.openWindow(url)
}

let turn = Promise.resolve()

/** Handles pushes in order: each one counts what the previous ones have shown. */
const inTurn = work => (turn = turn.then(work, work))

addEventListener("install", event => event.waitUntil(skipWaiting()))
addEventListener("activate", event => event.waitUntil(clients.claim()))
addEventListener("push", event => event.waitUntil(inTurn(() => receive(event.data))))
addEventListener("pushsubscriptionchange", event => event.waitUntil(renew(event.newSubscription)))
addEventListener("notificationclick", event => {
  const { data } = event.notification
  event.notification.close()
  event.waitUntil(open(data?.buttons?.[event.action] ?? data?.open ?? page))
})
