import Nostr
import Notifications
import Registry
import Rules
import Storage

extension Pipeline {
    /// Puts settings in force, each in its turn, and says so.
    func adopt(_ changes: [SettingsChange]) {
        for change in changes { change.completion(Result { try adopt(change.settings) }) }
    }

    /// Puts other settings in force, between two batches. What waits for context is decided by them too. Throws, and keeps the old
    /// ones, when the registry cannot be read. Where and how long events wait for context stays as it was at the start.
    func adopt(_ new: PipelineSettings) throws {
        let (old, rules) = (settings, new.rules)
        let (oldKinds, askedForFollows) = (keptKinds, asksForFollows)
        if rules.namedSignals != old.rules.namedSignals || rules.languages != old.rules.languages {
            try registry.rename(signals: Array(rules.namedSignals), languages: rules.languages, in: &index) {
                pacing.take($0)
            }
        }
        if new.pacing != old.pacing { follow(new.pacing) }
        settings = new
        addressees = Addressees(settings: new, sealer: doors.sealer, deliveryID: deliveryID)
        gate.purposes = Purposes(new, addressees.filters, doors: doors, ourKey: registry.ourKey)
        updateContextDemand()
        // What was sought and found may be forgotten since, or have been kept for what was asked of it then.
        if keptKinds != oldKinds || asksForFollows != askedForFollows { context.forgetSoughtLists() }
        do {
            try forgetUnreadLists()
        } catch {
            // They take room and do no harm; the next start tries again.
            registryTrouble.occurred(error, at: now())
        }
    }
}

extension Pipeline {
    /// Whether it matters whom accounts follow.
    var asksForFollows: Bool { settings.rules.asksForFollows || addressees.filters.need > .nothing }

    /// Accounts' own lists that are kept whole.
    var keptKinds: Set<Kind> { addressees.filters.keptKinds }

    /// Lets go of accounts' lists that neither rules nor filters read.
    func forgetUnreadLists() throws {
        if !asksForFollows { try registry.forgetFollowed() }
        try registry.forgetRecipientLists(but: keptKinds)
    }
}

extension Purposes {
    init(_ settings: PipelineSettings, _ filters: EventFilters, doors: PipelineDoors, ourKey: PublicKey) {
        let asksForFollows = settings.rules.asksForFollows || filters.need > .nothing
        self.init(
            ourKey: ourKey,
            notifiableKinds: settings.rules.notifiableKinds,
            takesRequests: doors.remoteSigner != nil,
            takesHints: doors.hintObserver != nil,
            recipientKinds: asksForFollows ? filters.keptKinds.union([.contactList]) : filters.keptKinds
        )
    }
}
