import Core
import Nostr
import Push
import Registry
import Storage

/// The filter stage: runs the operator's filters on plans, once for each event and account, and finds follows of
/// follows.
struct Filters {
    private let registry: Registry
    private let trouble: ErrorLog
    var filters: EventFilters
    private var distances = FollowDistances()

    init(_ filters: EventFilters, registry: Registry, trouble: ErrorLog) {
        self.filters = filters
        self.registry = registry
        self.trouble = trouble
    }

    /// Returns one session for each of an event's plans, in order, or nil for a plan without filters. Empty if there
    /// are no filters at all. Throws if the registry cannot be read.
    mutating func sessions(for plans: [Plan], of event: Event, at now: Timestamp) throws -> [FilterSession?] {
        guard !filters.all.isEmpty else { return [] }
        var sessions: [FilterSession?] = []
        sessions.reserveCapacity(plans.count)
        for plan in plans { sessions.append(try session(for: plan, of: event, at: now)) }
        askTogether(plans, sessions)
        return sessions
    }

    private mutating func session(for plan: Plan, of event: Event, at now: Timestamp) throws -> FilterSession? {
        guard !plan.targets.isEmpty, let relevance = plan.relevance else { return nil }
        let selection = selection(of: plan)
        guard !selection.isEmpty else { return nil }
        var lists: [Kind: [UInt8]] = [:]
        for kind in filters.wantedKinds(selection) {
            lists[kind] = try registry.recipientList(kind, of: plan.account)?.json
        }
        let author = Self.author(of: event, relevance)
        var distance = FollowDistance.unknown
        if let author {
            distance = try followDistance(from: plan.account, to: author, needed: filters.need(selection), at: now)
        }
        let question = FilterQuestion(
            event: event.json,
            recipient: plan.account.hex,
            signal: relevance.signal ?? Signal(rawValue: ""),
            relation: relevance.relation?.rawValue ?? "",
            author: author?.hex ?? "",
            zapMillisats: relevance.zap.map { UInt64(clamping: $0.millisats) } ?? 0,
            followDistance: distance,
            now: now
        )
        return FilterSession(filters, question, lists: lists)
    }

    /// Runs the filters on all plans of an event before the first plan is carried out. Each filter gets all its
    /// questions together, in the order of the plans, and runs after the filters before it.
    ///
    /// Plans of zaps are excluded: whether the second plan needs a decision at all depends on the first.
    private func askTogether(_ plans: [Plan], _ sessions: [FilterSession?]) {
        let open = zip(plans, sessions).filter { $1 != nil && $0.relevance?.zap == nil }
        guard open.count > 1 else { return }
        for place in filters.all.indices where !filters.all[place].isAskedAfterRendering {
            var asked: [(session: FilterSession, signal: Signal)] = []
            var questions: [FilterQuestion] = []
            for (plan, session) in open {
                guard let session else { continue }
                let first = asked.count
                for target in plan.targets {
                    guard let (signal, question) = session.openQuestion(to: place, target),
                        !asked[first...].contains(where: { $0.signal == signal })
                    else { continue }
                    asked.append((session, signal))
                    questions.append(question)
                }
            }
            guard !questions.isEmpty else { continue }
            for ((session, signal), answer) in zip(asked, filters.all[place].decide(questions)) {
                session.keep(answer, of: place, signal)
            }
        }
    }

    // MARK: Context for filters

    /// The missing context that filters need for a plan, if it should be fetched.
    mutating func wants(
        of plan: Plan,
        for event: Event,
        _ context: inout EventContext,
        at now: Timestamp
    ) throws -> ContextWants {
        var wants = ContextWants()
        guard !filters.all.isEmpty, !plan.targets.isEmpty, let relevance = plan.relevance else { return wants }
        let account = plan.account
        let selection = selection(of: plan)
        for kind in filters.wantedKinds(selection) {
            let want = ListWant(account: account, kind: kind)
            guard try registry.recipientList(kind, of: account) == nil, context.isWorthSeeking(.list(want), at: now)
            else {
                continue
            }
            wants.lists.insert(want)
        }
        guard let author = Self.author(of: event, relevance), author != account else { return wants }
        let need = filters.need(selection)
        guard need > .nothing else { return wants }
        let isFollowed = try registry.isFollowed(author, by: account)
        if isFollowed == true { return wants }
        let list = need == .distance ? try registry.recipientList(.contactList, of: account) : nil
        let want = DistanceWant(account: account, author: author)
        // If no filter used distances before, the follows may be known without the list itself.
        guard isFollowed != nil, need < .distance || list != nil else {
            if context.isWorthSeeking(.contactList(account), at: now) {
                wants.contactLists.insert(account)
                if need == .distance, distances.waitForList(want) { wants.laterDistances.insert(want) }
            }
            return wants
        }
        if let list, distances.distance(want, by: list.mark.id, at: now) == nil {
            distances.ask(want, by: list.mark.id)
            wants.distances.insert(want)
        }
        return wants
    }

    /// Ends these requests, because relays are not asked after all.
    mutating func abandon(_ wants: Set<DistanceWant>, at now: Timestamp) {
        for want in wants { distances.end(want, isAnswered: false, at: now) }
    }

    /// Handles a contact list, perhaps by an author that an account follows. Returns the pairs that it settles.
    mutating func settle(by list: Event, at now: Timestamp) -> [DistanceWant] {
        let named = list.values(of: "p").lazy.compactMap { PublicKey(hex: $0) }
        return distances.settle(naming: named, at: now) { [registry] account in
            (try? registry.isFollowed(list.pubkey, by: account)) == true
        }
    }

    /// Handles an account's contact list that is known now. Returns the pairs that waited for it; the `open` ones
    /// should be fetched.
    mutating func resume(
        distancesOf account: PublicKey,
        at now: Timestamp
    ) -> (settled: [DistanceWant], open: [DistanceWant]) {
        var (settled, open) = ([DistanceWant](), [DistanceWant]())
        for want in distances.takeWaiting(for: account) {
            do {
                let list = try registry.recipientList(.contactList, of: account)
                let isFollowed = try registry.isFollowed(want.author, by: account)
                if let list, isFollowed == false, distances.distance(want, by: list.mark.id, at: now) == nil {
                    distances.ask(want, by: list.mark.id)
                    open.append(want)
                } else {
                    settled.append(want)
                }
            } catch {
                trouble.occurred(error, at: now)
                settled.append(want)
            }
        }
        return (settled, open)
    }

    /// Ends a fetch that relays answered or failed to answer. Returns pairs that need not wait any longer.
    mutating func end(_ wants: ContextWants, isAnswered: Bool, at now: Timestamp) -> [DistanceWant] {
        for want in wants.distances { distances.end(want, isAnswered: isAnswered, at: now) }
        return wants.contactLists.flatMap { distances.takeWaiting(for: $0) }
    }

    /// The author as filters see it. Nil for gift wraps, which are signed with one-time keys.
    private static func author(of event: Event, _ relevance: Relevance) -> PublicKey? {
        event.kind.isGiftWrap ? nil : relevance.author
    }

    /// The filters that run for at least one of the plan's devices.
    private func selection(of plan: Plan) -> FilterSelection {
        plan.targets.reduce(into: []) { $0.formUnion(filters.selection(of: $1)) }
    }

    private mutating func followDistance(
        from account: PublicKey,
        to author: PublicKey,
        needed: FollowNeed,
        at now: Timestamp
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
}

/// The decisions of filters about one event and recipient. Each filter runs at most once per signal, and once per text.
final class FilterSession {
    enum Decision {
        case pass
        /// `filter` is the filter's name; `reason` is the filter's name and reason for the trace.
        case drop(filter: String, reason: String)
    }

    private let filters: EventFilters
    private let question: FilterQuestion
    private let lists: [Kind: [UInt8]]
    private var early: [(place: Int, signal: Signal, answer: FilterDecision)] = []
    private var late: [(place: Int, before: Notification, answer: FilterDecision)] = []

    /// `question` has no signal, lists or notification yet; `lists` are the recipient's own.
    init(_ filters: EventFilters, _ question: FilterQuestion, lists: [Kind: [UInt8]]) {
        self.filters = filters
        self.question = question
        self.lists = lists
    }

    /// Whether the event may notify a device, according to the filters before rendering.
    func decision(_ target: Plan.Target) -> Decision {
        let signal = target.renderer.signal
        for place in filters.beforeRendering(filters.selection(of: target)) {
            let answer: FilterDecision
            if let known = early.first(where: { $0.place == place && $0.signal == signal })?.answer {
                answer = known
            } else {
                answer = ask(place, signal)
                early.append((place, signal, answer))
            }
            if let reason = drop(answer, of: place) { return .drop(filter: filters.all[place].name, reason: reason) }
        }
        return .pass
    }

    /// Whether any of the device's filters runs after rendering.
    func isAskedAfterRendering(_ target: Plan.Target) -> Bool {
        !filters.afterRendering(filters.selection(of: target)).isEmpty
    }

    /// Whether a notification may be sent to the device. Filters may change it.
    func filter(_ notification: inout Notification, _ target: Plan.Target) -> Decision {
        for place in filters.afterRendering(filters.selection(of: target)) {
            let answer: FilterDecision
            if let known = late.first(where: { $0.place == place && $0.before == notification })?.answer {
                answer = known
            } else {
                answer = ask(place, notification.signal, notification)
                late.append((place, notification, answer))
            }
            if let reason = drop(answer, of: place) { return .drop(filter: filters.all[place].name, reason: reason) }
            guard case .edited(var edited) = answer else { continue }
            edited.origin = notification.origin
            notification = edited
        }
        return .pass
    }

    /// Returns the next question to the filter at `place` about a device before rendering, and the signal of its
    /// answer. Nil if it was already asked, does not run for this device, or a filter before it drops the event or has
    /// not answered.
    func openQuestion(to place: Int, _ target: Plan.Target) -> (signal: Signal, question: FilterQuestion)? {
        let selection = filters.selection(of: target)
        guard selection.contains(at: place) else { return nil }
        let signal = target.renderer.signal
        for earlier in filters.beforeRendering(selection) {
            let known = early.first { $0.place == earlier && $0.signal == signal }?.answer
            guard earlier != place else { return known == nil ? (signal, makeQuestion(place, signal)) : nil }
            guard let known, drop(known, of: earlier) == nil else { return nil }
        }
        return nil
    }

    /// Stores the answer to a question of ``openQuestion(to:_:)``.
    func keep(_ answer: FilterDecision, of place: Int, _ signal: Signal) { early.append((place, signal, answer)) }

    private func ask(_ place: Int, _ signal: Signal, _ notification: Notification? = nil) -> FilterDecision {
        let question = makeQuestion(place, signal, notification)
        return filters.all[place].decide([question]).first ?? .failed(reason: "no answer")
    }

    private func makeQuestion(_ place: Int, _ signal: Signal, _ notification: Notification? = nil) -> FilterQuestion {
        let filter = filters.all[place]
        var question = question
        question.signal = signal
        question.recipientEvents = filter.wantedKinds.compactMap { lists[$0] }
        if filter.need == .nothing { question.followDistance = .unknown }
        question.notification = notification
        return question
    }

    /// The reason why the event is dropped; nil if it is not.
    private func drop(_ answer: FilterDecision, of place: Int) -> String? {
        let filter = filters.all[place]
        switch answer {
        case .pass, .edited: return nil
        case .drop(let reason): return reason.isEmpty ? filter.name : "\(filter.name): \(reason)"
        case .failed: return filter.onError == .drop ? "\(filter.name): it could not decide" : nil
        }
    }
}
