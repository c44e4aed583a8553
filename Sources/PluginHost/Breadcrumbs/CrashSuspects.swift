import Units

/// A call to a plugin that was under way when a router's process ended.
package struct InterruptedCall: Hashable, Sendable {
    /// What was called, by the numbers in the file of breadcrumbs, which do not change.
    package enum Function: UInt32, Sendable {
        case create = 1
        case validate = 2
        case deliver = 3
        case cancel = 4
        /// The answer to an HTTP request.
        case response = 5
        case decide = 6
        case command = 7
        case check = 8
        /// A request from outside.
        case receive = 9
        case destroy = 10
        case timer = 11
        /// An event of a stream.
        case stream = 12
    }

    /// The file name of the plugin's library.
    package var plugin: String
    package var function: Function
    /// What it was about: a delivery's id, or the fingerprint of what may not stand in a file. Empty: not known.
    package var subject: String

    package init(plugin: String, function: Function, subject: String) {
        self.plugin = plugin
        self.function = function
        self.subject = subject
    }
}

/// What plugins in the router's own process were given when it ended, over several runs. Pure.
///
/// Nobody knows what ended the process: a kill, or the plugin. So one death makes a suspect, and suspects get their
/// second chance while no other call is inside a plugin. What ends the process again is guilty: it is not given to the
/// plugin any more.
package struct CrashSuspects: Sendable {
    /// What is remembered of a subject.
    package struct Entry: Equatable, Sendable {
        package var call: InterruptedCall
        package var deaths: UInt32
        /// When the last death was noticed.
        package var at: Timestamp

        package init(_ call: InterruptedCall, deaths: UInt32, at: Timestamp) {
            self.call = call
            self.deaths = deaths
            self.at = at
        }
    }

    private struct Key: Hashable {
        let plugin: String
        let subject: String

        init(_ plugin: String, _ subject: String) {
            self.plugin = plugin
            self.subject = subject
        }

        init(_ call: InterruptedCall) { self.init(call.plugin, call.subject) }
    }

    /// The most that are remembered; the oldest are forgotten first.
    package static let capacity = 128
    /// Deaths that prove guilt. One may be an accident.
    private static let proof: UInt32 = 2
    private static let memory: Duration = .hours(24)
    /// How long suspects are waited for, and how long after the last of them calls still go one by one: its answer may
    /// be what the plugin dies of.
    private static let patience: Duration = .minutes(10)
    private static let aftermath: Duration = .minutes(1)

    private var entries: [Key: Entry] = [:]
    private var unseen: Set<Key> = []
    private var aloneUntil: Timestamp

    /// `known` is from earlier runs, `interrupted` what was inside when the last one ended.
    package init(known: [Entry], interrupted: [InterruptedCall], now: Timestamp) {
        for entry in known where now - entry.at < Self.memory { entries[Key(entry.call)] = entry }
        // Two threads may have been inside for the same: it was one death.
        var died: Set<Key> = []
        for call in interrupted where !call.subject.isEmpty && died.insert(Key(call)).inserted {
            entries[Key(call)] = Entry(call, deaths: (entries[Key(call)]?.deaths ?? 0) + 1, at: now)
        }
        for (key, _) in entries.sorted(by: { $0.value.at < $1.value.at }).prefix(max(0, entries.count - Self.capacity))
        {
            entries[key] = nil
        }
        unseen = Set(entries.filter { $0.value.deaths < Self.proof }.keys)
        aloneUntil = unseen.isEmpty ? now : now + Self.patience
    }

    /// All of them, the oldest first.
    package var all: [Entry] { entries.values.sorted { ($0.at, $0.call.subject) < ($1.at, $1.call.subject) } }

    /// Whether calls have to go one by one, so that another death proves something.
    package func isAlone(now: Timestamp) -> Bool { now < aloneUntil }

    /// Whether the plugin must not be given this any more.
    package func isGuilty(plugin: String, subject: String) -> Bool {
        guard let entry = entries[Key(plugin, subject)] else { return false }
        return entry.deaths >= Self.proof
    }

    /// A call begins. Once all suspects were seen, calls go one by one for a little longer only.
    package mutating func begins(plugin: String, subject: String, now: Timestamp) {
        guard unseen.remove(Key(plugin, subject)) != nil, unseen.isEmpty else { return }
        aloneUntil = min(aloneUntil, now + Self.aftermath)
    }
}
