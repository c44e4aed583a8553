// Shows pushes and opens what they are about. It has no key of the person's, so what needs a signature is left to the page.
"use strict"

importScripts("texts.js", "storage.js", "notes.js")

const page = new URL("./", location.href).href

const pages = async () => (await clients.matchAll({ type: "window", includeUncontrolled: true })).filter(({ url }) => url.startsWith(page))

const tell = async message => {
  for (const client of await pages()) client.postMessage(message)
}

/** How many events the notifications on the screen count, by tag. */
const countsOnScreen = async () => {
  const counts = {}
  for (const { tag, data } of await registration.getNotifications()) if (tag && data?.n) counts[tag] = data.n
  return tag => counts[tag] ?? 0
}

const receive = async data => {
  let message = null
  try {
    message = data?.json()
  } catch {
    // Not JSON: still something came, and browsers punish pushes that show nothing.
  }
  const state = await carillonState.read().catch(() => ({}))
  const { title, options } = carillonNotes.notification(message, state, await countsOnScreen())
  await registration.showNotification(title, options)
  await carillonState.merge({ lastShown: Date.now() }).catch(() => {})
  await tell({ type: "shown", title, body: options.body, tag: options.tag ?? "" })
}

/** A new subscription for the one that ended. The router learns of it when the person has signed, which only the page can ask for. */
const renew = async subscription => {
  const state = await carillonState.read()
  if (!state.ways?.web) return
  if (!subscription) {
    const settings = await (await fetch("settings.json")).json()
    const router = await (await fetch("../notification-relay.json")).json()
    const key = router.apps[settings.app]?.web?.vapid_public_keys?.[0]
    if (key) await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }).catch(() => {})
  }
  await carillonState.merge({ addressChanged: true })
  const language = state.language in carillonTexts ? state.language : carillonLanguage()
  await registration.showNotification(carillonText(language, "notesRenew"), {
    body: carillonText(language, "notesRenewBody"),
    icon: "icon.png",
    lang: language,
    tag: "renewal",
    requireInteraction: true,
    data: { open: `${page}#renewal`, buttons: {} },
  })
  await tell({ type: "renewal" })
}

/** The page itself comes to the front if it is open; everything else gets a window of its own. */
const open = async url => {
  if (url.startsWith(page)) {
    const [client] = await pages()
    if (client) return client.focus()
  }
  return clients.openWindow(url)
}

let turn = Promise.resolve()

/** One push after the other: each counts what those before it have shown. */
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
