"""A filter for Carillon: drops events that contain one of the operator's words.

    filter_plugins:
      wordlist: {settings: {words: [casino, lottery]}}
"""

from carillon import Invalid, drop

FILTER = "wordlist"
ID = "org.example.wordlist"
VERSION = "1.0.0"


def create(config):
    """Reads the settings once. `decide` gets the returned value."""
    words = config.get("words")
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise Invalid("words: expected a list of texts")
    return [word.lower() for word in words]


def decide(call, words):
    """Decides about an event. Events are verified, but their text is untrusted: any length, any character."""
    content = call.event["content"].lower()
    if any(word in content for word in words):
        return drop("it has an unwanted word")  # for the log: never content of the event
