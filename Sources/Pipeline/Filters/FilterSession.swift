import Nostr
import Notifications

/// What filters decide about one event for one recipient. Each is asked at most once for a signal, and once for a text.
final class FilterSession {
    enum Ruling {
        case pass
        /// `filter` is the filter's name; `reason` names it too and says why, for the trace.
        case drop(filter: String, reason: String)
    }

    private struct Rendered {
        let place: Int
        let before: Notification
        let verdict: FilterVerdict
    }

    private let filters: EventFilters
    private let question: FilterQuestion
    private let lists: [Kind: [UInt8]]
    private var early: [(place: Int, signal: Signal, verdict: FilterVerdict)] = []
    private var late: [Rendered] = []

    /// `question` is without signal, lists and notification; `lists` are the recipient's own.
    init(_ filters: EventFilters, _ question: FilterQuestion, lists: [Kind: [UInt8]]) {
        self.filters = filters
        self.question = question
        self.lists = lists
    }

    /// Whether the event may wake a device, as far as that can be said before rendering.
    func ruling(_ target: Plan.Target) -> Ruling {
        let signal = target.renderer.signal
        for place in filters.beforeRendering(filters.selection(of: target)) {
            let verdict: FilterVerdict
            if let known = early.first(where: { $0.place == place && $0.signal == signal })?.verdict {
                verdict = known
            } else {
                verdict = ask(place, signal)
                early.append((place, signal, verdict))
            }
            if let reason = drop(verdict, of: place) { return .drop(filter: filters.all[place].name, reason: reason) }
        }
        return .pass
    }

    /// Whether any of the device's filters looks at the notification.
    func isAskedAfterRendering(_ target: Plan.Target) -> Bool {
        !filters.afterRendering(filters.selection(of: target)).isEmpty
    }

    /// Whether a notification may go to the device; filters may change it.
    func filter(_ notification: inout Notification, _ target: Plan.Target) -> Ruling {
        for place in filters.afterRendering(filters.selection(of: target)) {
            let verdict: FilterVerdict
            if let known = late.first(where: { $0.place == place && $0.before == notification })?.verdict {
                verdict = known
            } else {
                verdict = ask(place, notification.signal, notification)
                late.append(Rendered(place: place, before: notification, verdict: verdict))
            }
            if let reason = drop(verdict, of: place) { return .drop(filter: filters.all[place].name, reason: reason) }
            guard case .edited(var edited) = verdict else { continue }
            edited.origin = notification.origin
            notification = edited
        }
        return .pass
    }

    /// What the filter at `place` would be asked next for the device before anything is rendered, and under which
    /// signal its verdict is kept. Nil: nothing, as it was asked, or is not for this device, or one before it drops the
    /// event or was not asked yet.
    func openQuestion(to place: Int, _ target: Plan.Target) -> (signal: Signal, question: FilterQuestion)? {
        let selection = filters.selection(of: target)
        guard selection.contains(at: place) else { return nil }
        let signal = target.renderer.signal
        for earlier in filters.beforeRendering(selection) {
            let known = early.first { $0.place == earlier && $0.signal == signal }?.verdict
            guard earlier != place else { return known == nil ? (signal, makeQuestion(place, signal)) : nil }
            guard let known, drop(known, of: earlier) == nil else { return nil }
        }
        return nil
    }

    /// Takes the verdict to what ``openQuestion(to:_:)`` has given.
    func keep(_ verdict: FilterVerdict, of place: Int, _ signal: Signal) { early.append((place, signal, verdict)) }

    private func ask(_ place: Int, _ signal: Signal, _ notification: Notification? = nil) -> FilterVerdict {
        let question = makeQuestion(place, signal, notification)
        return filters.all[place].decide([question]).first ?? .failed(reason: "no verdict")
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

    /// Why the event is dropped; nil: it is not.
    private func drop(_ verdict: FilterVerdict, of place: Int) -> String? {
        let filter = filters.all[place]
        switch verdict {
        case .pass, .edited: return nil
        case .drop(let reason): return reason.isEmpty ? filter.name : "\(filter.name): \(reason)"
        case .failed: return filter.onError == .drop ? "\(filter.name): it could not decide" : nil
        }
    }
}
