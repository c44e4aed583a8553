import Console

/// What an account may know of itself here. Numbers that would tell of others are not in it.
struct OwnReport: OperatorAnswer, Equatable {
    /// One device of the account.
    struct Device: Codable, Sendable, Equatable {
        /// What the API calls it.
        var id: String
        /// What the registration's `d` says behind the router's key.
        var name: String
        var platform: String
        var app: String
        /// The mode that is in force, and whether it is the operator's default.
        var mode: String
        var isDefaultMode: Bool
        /// What wakes it.
        var signals: [String]
        /// RFC 3339, in UTC, as all times.
        var registeredAt: String
        /// Why it is not woken as things stand, in words; nil: it is.
        var silence: String?
        /// The same for programs.
        var silenceSays: Statement?
        /// Quiet hours, caps, filters and the language, as wished and as in force.
        var preferences: DevicePreferencesOverview?
        var lastSuccess: DeviceOverview.Push?
        var lastError: DeviceOverview.Push?
        var pace: DevicePaceOverview?
        /// Events that wait for its time.
        var held: [Held]
        /// Pushes that wait to be taken by its push service; nil: that cannot be read.
        var waiting: Int?
        /// Until when its push server gets nothing, as it asked for a pause or cannot be reached; nil: it gets what
        /// there is.
        var pausedUntil: String?
        /// The same of all devices of its platform and app, in words.
        var queuePause: String?
        var queuePauseSays: Statement?
    }

    /// Events that wait together.
    struct Held: Codable, Sendable, Equatable {
        /// The first of them.
        var event: String
        var count: Int
        /// Nil: when what keeps it has gone.
        var until: String?
        /// Why, in words.
        var words: String
        /// The same as one word, as in `pace`; nil: nothing keeps it any more.
        var reason: String?
    }

    /// A group that the account is in.
    struct Group: Codable, Sendable, Equatable {
        var app: String
        var group: String
        var since: String
    }

    /// A relay that is read for the account.
    struct Relay: Codable, Sendable, Equatable {
        var url: String
        /// `connected`, `connecting`, `waiting` or `idle`.
        var state: String
        /// Up to when all that it had was read; nil: it never was.
        var readUpTo: String?
        var nextTry: String?
        /// Why the last connection ended, one word.
        var lastFailure: String?
        /// What it said last, such as `auth-required`.
        var lastWords: [RelayList.Words]
    }

    /// One event and what was decided about it for the account.
    struct Event: OperatorAnswer, Equatable {
        struct Device: Codable, Sendable, Equatable {
            /// As in ``OwnReport/devices``; nil: it is registered no more.
            var id: String?
            var steps: [Step]
            var outcome: String
            /// The same for programs; nil: nothing is known.
            var ending: EventExplanation.Ending?
        }

        var event: String
        /// What is the same for all devices.
        var steps: [Step]
        var devices: [Device]
        /// How it ended for the devices that are not listed; nil: none are left.
        var outcome: String?
    }

    struct Step: Codable, Sendable, Equatable {
        var at: String
        /// One word: a stage's verdict, or what the push service said.
        var step: String
        var words: String
        var reason: String?
        /// The push service's HTTP status.
        var status: Int?
        /// Where the push went; nil: the step is none of a push.
        var platform: String?
        var app: String?
        var attempt: Int?
        /// When the push service is asked again.
        var nextAt: String?
    }

    /// Lists of the account that filters read, as far as the router knows them.
    struct List: Codable, Sendable, Equatable {
        var kind: Int
        var createdAt: String
        /// How many public entries it has, by the tag's name.
        var entries: [String: Int]
    }

    var account: String
    var npub: String
    /// Whether the operator lets this key use the router.
    var isBlocked: Bool
    var devices: [Device]
    /// Registrations without effect until the newest kind 10050 names the key that signed them.
    var waiting: [Waiting]
    /// Groups of an app's users that the account is in, which senders notify by name.
    var groups: [Group]
    var relays: [Relay]
    var lists: [List]
    /// The newest first.
    var events: [Event]
    /// Since when events are remembered; nil: they are not.
    var tracedSince: String?
    var limits: Limits
    /// Whether a part of the router did not answer, so that newer pushes and events may be missing; nil: no.
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

/// What became of a change that an account asked for.
struct OwnChange: OperatorAnswer, Equatable {
    /// As it is now; nil: it was removed.
    var device: OwnReport.Device?
}

/// The groups that an account is in.
struct OwnGroups: OperatorAnswer, Equatable {
    var groups: [OwnReport.Group]
}

/// What came of a test push that an account asked for.
struct OwnTest: OperatorAnswer, Equatable {
    var id: String
    var mode: String
    /// By its word: delivered, gone, rejected, retry or misconfigured.
    var outcome: String
    /// The push service's HTTP status; 0: it gave none.
    var status: Int
    var reason: String
    /// The id of this delivery, which push services show in their tools.
    var delivery: String
    /// In which modes it went out before, saying more.
    var reductions: [TestPushAnswer.Reduction]
}
