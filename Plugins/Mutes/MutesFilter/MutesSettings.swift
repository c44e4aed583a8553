import PluginKit

/// What of mute lists counts.
struct MutesSettings: Sendable {
    let people: Bool
    let words: Bool
    /// Whether a muted word must stand alone.
    let wholeWords: Bool
    let hashtags: Bool
    let threads: Bool
    /// Events of muted threads that are remembered.
    let rememberedEvents: Int

    init(_ object: JSONObject) throws(PluginError) {
        try object.refuseMembers(except: [
            "people", "words", "whole_words", "hashtags", "threads", "remembered_events",
        ])
        people = try object.flag("people") ?? true
        words = try object.flag("words") ?? true
        wholeWords = try object.flag("whole_words") ?? false
        hashtags = try object.flag("hashtags") ?? true
        threads = try object.flag("threads") ?? true
        rememberedEvents = Int(try object.integer("remembered_events", in: 1...1_000_000) ?? 10_000)
    }
}
