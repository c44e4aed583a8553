import Nostr
import Notifications
import Registry

/// Asking filters: after the plan, once for each event and account.
extension Pipeline {
    var filters: EventFilters { addressees.filters }

    /// What filters may be asked about a plan; nil when none is. Throws when the registry cannot be read.
    func filterSession(for plan: AddressingPlan, of event: Event, at now: Int64) throws -> FilterSession? {
        guard !filters.isEmpty, !plan.targets.isEmpty, let concern = plan.concern else { return nil }
        let selection = filterSelection(of: plan)
        guard !selection.isEmpty else { return nil }
        var lists: [Kind: [UInt8]] = [:]
        for kind in filters.wantedKinds(selection) {
            lists[kind] = try registry.recipientList(kind, of: plan.account)?.json
        }
        let author = Self.author(of: event, concern)
        let distance = try author.map { author in
            try followDistance(from: plan.account, to: author, needed: filters.need(selection), at: now)
        }
        let question = FilterQuestion(
            event: event.json,
            recipient: plan.account.hex,
            signal: concern.signal ?? Signal(rawValue: ""),
            relation: concern.relation?.rawValue ?? "",
            author: author?.hex ?? "",
            zapMillisats: concern.zap.map { UInt64(clamping: $0.millisats) } ?? 0,
            followDistance: distance ?? .unknown,
            now: now
        )
        return FilterSession(filters, question, lists: lists)
    }

    /// The plan without the devices that filters spare the event.
    func passing(
        _ plan: AddressingPlan,
        of event: EventID,
        _ session: FilterSession?,
        into batch: inout Batch
    ) -> AddressingPlan {
        guard let session else { return plan }
        var passing = plan
        passing.targets.removeAll { target in
            guard case .drop(let filter, let reason) = session.ruling(target.filters, target.renderer.signal) else {
                return false
            }
            batch.log.note(
                filter: filter,
                event: event,
                account: plan.account,
                device: target.device,
                reason: reason
            )
            return true
        }
        return passing
    }

    /// What filters would have to know for that plan, is not known, and is worth seeking.
    func filterWants(of plan: AddressingPlan, for event: Event, at now: Int64) throws -> ContextWants {
        var wants = ContextWants()
        guard !filters.isEmpty, !plan.targets.isEmpty, let concern = plan.concern else { return wants }
        let account = plan.account
        let selection = filterSelection(of: plan)
        for kind in filters.wantedKinds(selection) {
            let want = ListWant(account: account, kind: kind)
            guard try registry.recipientList(kind, of: account) == nil, context.isWorthSeeking(want, at: now) else {
                continue
            }
            wants.lists.insert(want)
        }
        guard let author = Self.author(of: event, concern), author != account else { return wants }
        let need = filters.need(selection)
        guard need > .nothing else { return wants }
        let isFollowed = try registry.isFollowed(author, by: account)
        if isFollowed == true { return wants }
        let list = need == .distance ? try registry.recipientList(.contactList, of: account) : nil
        // Where no filter asked for distances before, whom the list names may be known, and the list itself not.
        guard isFollowed != nil, need < .distance || list != nil else {
            if context.isContactListWorthSeeking(account, at: now) {
                wants.contactLists.insert(account)
                let want = DistanceWant(account: account, author: author)
                if need == .distance, distances.waitForList(want) { wants.laterDistances.insert(want) }
            }
            return wants
        }
        if let list, let want = askableDistance(from: account, to: author, by: list.mark.id, at: now) {
            wants.distances.insert(want)
        }
        return wants
    }

    /// Whom a filter takes for the author. A gift wrap's is a key made for it.
    private static func author(of event: Event, _ concern: EventConcern) -> PublicKey? {
        event.kind.isGiftWrap ? nil : concern.author
    }

    /// The filters that any of the plan's devices has.
    private func filterSelection(of plan: AddressingPlan) -> FilterSelection {
        plan.targets.reduce(into: []) { $0.formUnion($1.filters) }
    }

    private func followDistance(
        from account: PublicKey,
        to author: PublicKey,
        needed: FollowNeed,
        at now: Int64
    ) throws -> FollowDistance {
        guard needed > .nothing else { return .unknown }
        if author == account { return .followed }
        guard let isFollowed = try registry.isFollowed(author, by: account) else { return .unknown }
        if isFollowed { return .followed }
        guard needed == .distance, let list = try registry.recipientList(.contactList, of: account) else {
            return .notFollowed
        }
        let want = DistanceWant(account: account, author: author)
        return distances.distance(want, by: list.mark.id, at: now) ?? .notFollowed
    }

    /// The pair, if relays are worth asking; they are asked then.
    private func askableDistance(
        from account: PublicKey,
        to author: PublicKey,
        by list: EventID,
        at now: Int64
    ) -> DistanceWant? {
        let want = DistanceWant(account: account, author: author)
        guard distances.distance(want, by: list, at: now) == nil else { return nil }
        distances.ask(want, by: list)
        return want
    }
}
