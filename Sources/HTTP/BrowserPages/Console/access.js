// Sign-in with a token, and the list of signed-in browsers.

import { ask, segment } from "./api.js"
import { element } from "./dom.js"

/** A short name of a browser from its User-Agent. */
const browserName = text => {
  const name = ["Edg", "OPR", "Firefox", "Chrome", "Safari"].map(each => text.match(new RegExp(`(${each})[a-zA-Z]*/(\\d+)`))).find(Boolean)
  const system = ["Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux"].find(each => text.includes(each))
  return name ? [`${name[1]} ${name[2]}`, system].filter(Boolean).join(", ") : text
}

/** The name shown for the signed-in person. */
export const nameOf = ({ name, means }, say) =>
  means === "token-file" ? say("tokenFile") : means === "proxy" ? say("signedOnAs", { name: name.replace(/^signed on as /, "") }) : name

/** Shows the sign-in form instead of a screen. `done` gets the session. */
export function signIn(place, parts, done) {
  const { say } = parts
  const token = element("input", { type: "password", autocomplete: "current-password", spellcheck: false, required: true })
  const problem = element("div", {})
  const button = element("button", { type: "submit", className: "main", textContent: say("signIn") })
  const form = element("form", { className: "card sign-in", "aria-labelledby": "sign-in-heading", noValidate: true },
    element("h1", { id: "sign-in-heading", textContent: say("signInHeading") }),
    globalThis.isSecureContext ? null : parts.notice("warn", say("insecure")),
    problem, parts.field("token", token, "tokenHelp"), button)
  form.onsubmit = event => {
    event.preventDefault()
    parts.run(async () => {
      try {
        const who = await ask("session", { method: "POST", body: { token: token.value.trim() } })
        token.value = ""
        // Without this check, a browser that keeps no cookies would show the form again without a reason.
        const kept = await ask("session")
        if (!kept.is_signed_in) throw new Error("no cookie")
        done(who)
      } catch (error) {
        const words = error.status === 403 ? say("wrongToken") : error.message === "no cookie" ? say("insecure") : parts.words(error)
        problem.replaceChildren(element("p", { className: "notice bad", role: "alert" }, words))
        token.focus()
      }
    }, button)
  }
  place.replaceChildren(form)
  token.focus()
}

export function open(place, { parts, who, signedOut }) {
  const { say, named, when, button, card, table } = parts
  const content = element("div", {}, parts.notice("", say("loading")))
  place.replaceChildren(parts.heading("access"),
    card("you", parts.facts([["signedInAs", named(nameOf(who, say))], ["scopes", who.scopes.map(scope => say(`scope_${scope}`)).join(", ")]]),
      who.is_session ? element("p", { className: "buttons" }, button("signOut", async () => { await ask("session", { method: "DELETE" }); signedOut() })) : parts.notice("", say("byProxy"))),
    content)
  const end = async session => {
    await ask(`sessions/${segment(session.id)}`, { method: "DELETE" })
    if (session.is_own) signedOut()
    else await load()
  }
  const load = async () => {
    const { sessions } = await ask("sessions")
    content.replaceChildren(card("sessions", sessions.length === 0 ? parts.notice("", say("noSessions"))
      : table("sessions", [
          ["token", session => [named(nameOf(session, say)), session.is_own ? [" ", parts.state("good", say("thisBrowser"))] : null].flat()],
          ["browser", session => element("span", { title: session.browser, translate: false, textContent: browserName(session.browser) })],
          ["began", session => when(session.began_at)],
          ["used", session => when(session.used_at)],
          ["ends", session => when(session.ends_at)],
          ["action", session => button("endSession", () => end(session), { "aria-label": say("endSessionOf", { name: nameOf(session, say) }) })],
        ], sessions)))
  }
  load().catch(error => content.replaceChildren(parts.problem(error)))
}
