import Console

/// What an account may know of itself here. Numbers that would tell of others are not in it.
package struct OwnReport: OperatorAnswer, Equatable {
    /// One device of the account.
    package struct Device: Codable, Sendable, Equatable {
        /// What the API calls it.
        package var id: String
        /// What the registration's `d` says behind the router's key.
        package var name: String
        package var platform: String
        package var app: String
        /// The mode that is in force, and whether it is the operator's default.
        package var mode: String
        package var isDefaultMode: Bool
        /// What wakes it.
        package var signals: [String]
        /// RFC 3339, in UTC, as all times.
        package var registeredAt: String
        /// Why it is not woken as things stand, in words; nil: it is.
        package var silence: String?
        /// The same for programs.
        package var silenceSays: Statement?
        /// Quiet hours, caps, filters and the language, as wished and as in force.
        package var preferences: DevicePreferencesOverview?
        package var lastSuccess: DeviceOverview.Push?
        package var lastError: DeviceOverview.Push?
        package var pace: DevicePaceOverview?
        /// Events that wait for its time.
        package var held: [Held]
        /// Pushes that wait to be taken by its push service; nil: that cannot be read.
        package var waiting: Int?
        /// Until when its push server gets nothing, as it asked for a pause or cannot be reached; nil: it gets what
        /// there is.
        package var pausedUntil: String?
        /// The same of all devices of its platform and app, in words.
        package var queuePause: String?
        package var queuePauseSays: Statement?
    }

    /// Events that wait together.
    package struct Held: Codable, Sendable, Equatable {
        /// The first of them.
        package var event: String
        package var count: Int
        /// Nil: when what keeps it has gone.
        package var until: String?
        /// Why, in words.
        package var words: String
        /// The same as one word, as in `pace`; nil: nothing keeps it any more.
        package var reason: String?
    }

    /// A group that the account is in.
    package struct Group: Codable, Sendable, Equatable {
        package var app: String
        package var group: String
        package var since: String
    }

    /// A relay that is read for the account.
    package struct Relay: Codable, Sendable, Equatable {
        package var url: String
        /// `connected`, `connecting`, `waiting` or `idle`.
        package var state: String
        /// Up to when all that it had was read; nil: it never was.
        package var readUpTo: String?
        package var nextTry: String?
        /// Why the last connection ended, one word.
        package var lastFailure: String?
        /// What it said last, such as `auth-required`.
        package var lastWords: [RelayList.Words]
    }

    /// One event and what was decided about it for the account.
    package struct Event: OperatorAnswer, Equatable {
        package struct Device: Codable, Sendable, Equatable {
            /// As in ``OwnReport/devices``; nil: it is registered no more.
            package var id: String?
            package var steps: [Step]
            package var outcome: String
            /// The same for programs; nil: nothing is known.
            package var ending: EventExplanation.Ending?
        }

        package var event: String
        /// What is the same for all devices.
        package var steps: [Step]
        package var devices: [Device]
        /// How it ended for the devices that are not listed; nil: none are left.
        package var outcome: String?

        package var text: String { json }
    }

    package struct Step: Codable, Sendable, Equatable {
        package var at: String
        /// One word: a stage's verdict, or what the push service said.
        package var step: String
        package var words: String
        package var reason: String?
        /// The push service's HTTP status.
        package var status: Int?
        /// Where the push went; nil: the step is none of a push.
        package var platform: String?
        package var app: String?
        package var attempt: Int?
        /// When the push service is asked again.
        package var nextAt: String?
    }

    /// Lists of the account that filters read, as far as the router knows them.
    package struct List: Codable, Sendable, Equatable {
        package var kind: Int
        package var createdAt: String
        /// How many public entries it has, by the tag's name.
        package var entries: [String: Int]
    }

    package var account: String
    package var npub: String
    /// Whether the operator lets this key use the router.
    package var isBlocked: Bool
    package var devices: [Device]
    /// Registrations without effect until the newest kind 10050 names the key that signed them.
    package var waiting: [Waiting]
    /// Groups of an app's users that the account is in, which senders notify by name.
    package var groups: [Group]
    package var relays: [Relay]
    package var lists: [List]
    /// The newest first.
    package var events: [Event]
    /// Since when events are remembered; nil: they are not.
    package var tracedSince: String?
    package var limits: Limits
    /// Whether a part of the router did not answer, so that newer pushes and events may be missing; nil: no.
    package var isPartial: Bool?

    package struct Waiting: Codable, Sendable, Equatable {
        package var name: String
        package var key: String
        package var words: String
    }

    package struct Limits: Codable, Sendable, Equatable {
        package var devices: Int
        package var registrationsPerHour: Int
    }

    package var text: String { json }
}

/// What became of a change that an account asked for.
package struct OwnChange: OperatorAnswer, Equatable {
    /// As it is now; nil: it was removed.
    package var device: OwnReport.Device?

    package var text: String { json }
}

/// The groups that an account is in.
package struct OwnGroups: OperatorAnswer, Equatable {
    package var groups: [OwnReport.Group]

    package var text: String { json }
}

/// What came of a test push that an account asked for.
package struct OwnTest: OperatorAnswer, Equatable {
    package var id: String
    package var mode: String
    /// By its word: delivered, gone, rejected, retry or misconfigured.
    package var outcome: String
    /// The push service's HTTP status; 0: it gave none.
    package var status: Int
    package var reason: String
    /// The id of this delivery, which push services show in their tools.
    package var delivery: String
    /// In which modes it went out before, saying more.
    package var reductions: [TestPushAnswer.Reduction]

    package var text: String { json }
}
