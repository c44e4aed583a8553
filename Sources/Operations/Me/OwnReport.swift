import Console

/// A report on an account for its owner. It contains no numbers that would reveal other accounts.
struct OwnReport: OperatorAnswer, Equatable {
    /// One device of the account.
    struct Device: Codable, Sendable, Equatable {
        /// The device's handle in the API.
        var id: String
        /// The part of the registration's `d` tag after the router's key.
        var name: String
        var platform: String
        var app: String
        /// The active mode, and whether it is the operator's default.
        var mode: String
        var isDefaultMode: Bool
        /// The signals that notify the device.
        var signals: [String]
        /// RFC 3339, in UTC, like all times.
        var registeredAt: String
        /// Why the device gets no notifications, in a sentence; `nil` if it gets them.
        var reason: String?
        /// The same reason with its code and values.
        var reasonMessage: Statement?
        /// Quiet hours, caps, filters and the language, both requested and active.
        var preferences: DevicePreferencesOverview?
        var lastSuccess: DeviceOverview.Push?
        var lastError: DeviceOverview.Push?
        var pace: DevicePaceOverview?
        /// Events held back for this device.
        var held: [Held]
        /// The number of queued pushes; `nil` if it cannot be read.
        var waiting: Int?
        /// When sending to its push server resumes after a requested pause or an outage; `nil` if sending is not
        /// paused.
        var pausedUntil: String?
        /// Why the queue of its platform and app is paused, in a sentence.
        var queuePause: String?
        var pauseMessage: Statement?
    }

    /// Events that are held back together.
    struct Held: Codable, Sendable, Equatable {
        /// The id of the first event.
        var event: String
        var count: Int
        /// When they are sent; `nil` if they are held until the reason ends.
        var until: String?
        /// Why they are held, in a sentence.
        var words: String
        /// The reason's code, as in `pace`; `nil` if they are no longer held.
        var reason: String?
    }

    /// A group that contains the account.
    struct Group: Codable, Sendable, Equatable {
        var app: String
        var group: String
        var since: String
    }

    /// A relay that the router reads for the account.
    struct Relay: Codable, Sendable, Equatable {
        var url: String
        /// `connected`, `connecting`, `waiting` or `idle`.
        var state: String
        /// The time up to which all events of the relay were read; `nil` if it was never read completely.
        var readUpTo: String?
        var nextTry: String?
        /// The code of the error that ended the last connection.
        var lastFailure: String?
        /// The relay's last messages, such as `auth-required`.
        var lastMessages: [RelayList.Words]
    }

    /// An event and the decisions about it for the account.
    struct Event: OperatorAnswer, Equatable {
        struct Device: Codable, Sendable, Equatable {
            /// As in ``OwnReport/devices``; `nil` if the device is no longer registered.
            var id: String?
            var steps: [Step]
            var outcome: String
            /// The same result with its code and values; `nil` if it is unknown.
            var result: EventExplanation.Ending?
        }

        var event: String
        /// Steps that are common to all devices.
        var steps: [Step]
        var devices: [Device]
        /// The result for devices that are not listed; `nil` if all are listed.
        var outcome: String?
    }

    struct Step: Codable, Sendable, Equatable {
        var at: String
        /// A code: a pipeline stage's decision or the push service's response.
        var step: String
        var words: String
        var reason: String?
        /// The push service's HTTP status.
        var status: Int?
        /// The platform of the push; `nil` if the step is not about a push.
        var platform: String?
        var app: String?
        var attempt: Int?
        /// When the router retries the push.
        var nextAt: String?
    }

    /// A list of the account that filters use, as known to the router.
    struct List: Codable, Sendable, Equatable {
        var kind: Int
        var createdAt: String
        /// The number of public entries by tag name.
        var entries: [String: Int]
    }

    var account: String
    var npub: String
    /// Whether the operator has blocked this key.
    var isBlocked: Bool
    var devices: [Device]
    /// Registrations that have no effect until the latest kind 10050 names the key that signed them.
    var waiting: [Waiting]
    /// Groups of an app's users that contain the account. Senders address a group by name.
    var groups: [Group]
    var relays: [Relay]
    var lists: [List]
    /// Newest first.
    var events: [Event]
    /// The time of the oldest traced event; `nil` if tracing is off.
    var tracedSince: String?
    var limits: Limits
    /// Whether a member did not respond, so that recent pushes and events may be missing; `nil` means no.
    var isPartial: Bool?

    struct Waiting: Codable, Sendable, Equatable {
        var name: String
        var key: String
        var words: String
    }

    struct Limits: Codable, Sendable, Equatable {
        var devices: Int
        var registrationsPerHour: Int
    }
}

/// The result of a change that an account requested.
struct OwnChange: OperatorAnswer, Equatable {
    /// The device after the change; `nil` if it was removed.
    var device: OwnReport.Device?
}

/// The groups that an account is in.
struct OwnGroups: OperatorAnswer, Equatable {
    var groups: [OwnReport.Group]
}

/// The result of a test push that an account requested.
struct OwnTest: OperatorAnswer, Equatable {
    var id: String
    var mode: String
    /// The code of the result: delivered, gone, rejected, retry or misconfigured.
    var outcome: String
    /// The push service's HTTP status; 0 if it sent none.
    var status: Int
    var reason: String
    /// The id of this delivery, which push services show in their tools.
    var delivery: String
    /// Earlier attempts in modes with more content.
    var reductions: [TestPushAnswer.Reduction]
}

/// An account's request for one event.
struct OwnEventQuestion: Codable, Sendable {
    /// As 64 hex digits.
    var account: String
    /// As 64 hex digits, note1… or nevent1….
    var event: String
}

/// A member's data about an account.
struct OwnFacts: Codable, Sendable, Equatable {
    /// Whether this member owns the account's partition. Only the owner knows the queued pushes.
    var isOwner: Bool
    var report: OwnReport
}

extension OwnReport {
    /// Joins the members' reports of an account; `nil` if there are none. `isWhole` is whether all members responded.
    static func together(_ members: [OwnFacts], isWhole: Bool) -> OwnReport? {
        let owner = members.first(where: \.isOwner)?.report
        guard var whole = owner ?? members.first?.report else { return nil }
        let reports = members.map(\.report)
        whole.devices = whole.devices.map { device in
            device.with(
                reports.flatMap(\.devices).filter { $0.id == device.id },
                owner: owner == nil ? nil : device
            )
        }
        let relays = Dictionary(grouping: reports.flatMap(\.relays), by: \.url)
        whole.relays = relays.values.compactMap(Relay.together).sorted { $0.url < $1.url }
        let events = Dictionary(grouping: reports.flatMap(\.events), by: \.event).values.compactMap(Event.together)
        whole.events = Array(events.sorted { $0.newest > $1.newest }.prefix(OwnOperations.events))
        // At least one member has no trace before that time.
        whole.tracedSince = reports.compactMap(\.tracedSince).max()
        whole.isPartial = isWhole ? nil : true
        return whole
    }
}

extension OwnReport.Device {
    /// Returns the device with all members' latest pushes and the queue of `owner`; `nil` if it did not respond.
    func with(_ copies: [OwnReport.Device], owner: OwnReport.Device?) -> OwnReport.Device {
        var device = self
        // RFC 3339 times in UTC sort as strings.
        device.lastSuccess = copies.compactMap(\.lastSuccess).max { $0.at < $1.at }
        device.lastError = copies.compactMap(\.lastError).max { $0.at < $1.at }
        (device.pace, device.held, device.waiting) = (owner?.pace, owner?.held ?? [], owner?.waiting)
        (device.pausedUntil, device.queuePause) = (owner?.pausedUntil, owner?.queuePause)
        device.pauseMessage = owner?.pauseMessage
        return device
    }
}

extension OwnReport.Relay {
    /// Returns the copy with the most active connection, because one member reads each relay.
    fileprivate static func together(_ copies: [OwnReport.Relay]) -> OwnReport.Relay? {
        let order = ["idle", "waiting", "connecting", "connected"]
        func place(_ relay: OwnReport.Relay) -> Int { order.firstIndex(of: relay.state) ?? -1 }
        var best = copies.max { place($0) < place($1) }
        best?.readUpTo = copies.compactMap(\.readUpTo).max()
        return best
    }
}

extension OwnReport.Event {
    /// The time of the latest step.
    fileprivate var newest: String { (steps + devices.flatMap(\.steps)).map(\.at).max() ?? "" }

    /// Joins several members' histories of an event; `nil` if there are none. One member may receive an event and
    /// another push it.
    static func together(_ copies: [OwnReport.Event]) -> OwnReport.Event? {
        guard var whole = copies.max(by: { $0.newest < $1.newest }) else { return nil }
        guard copies.count > 1 else { return whole }
        whole.steps = OwnReport.Step.together(copies.map(\.steps))
        let known = whole.devices
        let others = copies.flatMap(\.devices).filter { other in
            other.id != nil && !known.contains { $0.id == other.id }
        }
        for other in others where !whole.devices.contains(where: { $0.id == other.id }) { whole.devices.append(other) }
        whole.devices = whole.devices.map { device in
            guard let id = device.id else { return device }
            let same = copies.flatMap(\.devices).filter { $0.id == id }
            var device = same.max { ($0.steps.last?.at ?? "") < ($1.steps.last?.at ?? "") } ?? device
            device.steps = OwnReport.Step.together(same.map(\.steps))
            return device
        }
        return whole
    }
}

extension OwnReport.Step {
    /// Removes duplicates and sorts the steps by time.
    fileprivate static func together(_ lists: [[OwnReport.Step]]) -> [OwnReport.Step] {
        var all: [OwnReport.Step] = []
        for step in lists.flatMap(\.self) where !all.contains(step) { all.append(step) }
        return all.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }
}
