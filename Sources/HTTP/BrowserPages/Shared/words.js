// Finds the words of a page in a person's language.

/** What finds texts: `texts` are by language and key, and English has all of them. */
export const wordsOf = texts => {
  const form = (language, key, n) => {
    const text = (texts[language] ?? texts.en)[key] ?? texts.en[key] ?? ""
    return typeof text === "string" ? text : text[n === 1 ? "one" : "many"]
  }
  return {
    /** The text under `key` in a language, with `{name}` replaced; of what has a number, the right form for `n`. */
    textIn: (language, key, values = {}) =>
      Object.entries(values).reduce((result, [name, value]) => result.replaceAll(`{${name}}`, () => String(value)), form(language, key, values.n)),

    /** The same as texts and nodes, where a value is a node or several. */
    phraseIn: (language, key, values = {}) =>
      form(language, key, values.n).split(/(\{\w+\})/).filter(Boolean).flatMap(part => (/^\{\w+\}$/.test(part) ? values[part.slice(1, -1)] ?? [] : part)),

    /** The language to begin with: the first of the browser's that there are texts in. */
    browserLanguage: () => {
      const wanted = (navigator.languages ?? [navigator.language]).map(tag => tag.slice(0, 2).toLowerCase())
      return wanted.find(tag => tag in texts) ?? "en"
    },
  }
}
