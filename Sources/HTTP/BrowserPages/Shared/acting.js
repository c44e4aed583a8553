// Shared by pages for users: their heading in the person's language, one message and one action at a time.

import { find, show } from "./dom.js"
import { Problem } from "./signer.js"

/** Makes a page's helpers. `say` finds a text; `explain` turns a ``Problem`` into texts and nodes. */
export const acting = (say, explain) => {
  /** Shows one message: a problem or the progress. */
  const report = (progress, problem) => {
    find("progress").replaceChildren(...[progress ?? ""].flat())
    show("progress", Boolean(progress))
    find("problem").replaceChildren(...[problem ?? ""].flat())
    show("problem", Boolean(problem))
  }

  /** Runs one action at a time and shows its error. */
  const attempt = async action => {
    if (document.body.getAttribute("aria-busy") === "true") return
    document.body.setAttribute("aria-busy", "true")
    try {
      await action()
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem("problemOther")
      if (problem !== error) console.error(error)
      report(null, explain(problem))
    } finally {
      document.body.removeAttribute("aria-busy")
    }
  }

  /** Writes the texts of the page itself; `title` is the window's title. */
  const writeHead = (language, title) => {
    document.documentElement.lang = language
    document.title = say(title)
    for (const node of document.querySelectorAll("[data-text]")) node.textContent = say(node.dataset.text)
    find("language").value = language
  }

  return { report, attempt, writeHead }
}
