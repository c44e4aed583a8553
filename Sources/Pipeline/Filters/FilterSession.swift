import Nostr
import Notifications

/// What filters say of one event for one recipient: each is asked at most once for a signal, and once for a text.
final class FilterSession {
    /// What came of asking.
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

    /// Whether the event may wake a device that wants it as `signal`, as far as that can be said before rendering.
    func ruling(_ selection: FilterSelection, _ signal: Signal) -> Ruling {
        for place in filters.beforeRendering(selection) {
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

    /// Whether any of those looks at what was rendered.
    func isAskedAfterRendering(_ selection: FilterSelection) -> Bool { !filters.afterRendering(selection).isEmpty }

    /// What may go out of what was rendered.
    func filter(_ notification: inout Notification, _ selection: FilterSelection) -> Ruling {
        for place in filters.afterRendering(selection) {
            let verdict: FilterVerdict
            if let known = late.first(where: { $0.place == place && $0.before == notification })?.verdict {
                verdict = known
            } else {
                verdict = ask(place, notification.signal, notification)
                late.append(Rendered(place: place, before: notification, verdict: verdict))
            }
            if let reason = drop(verdict, of: place) { return .drop(filter: filters.all[place].name, reason: reason) }
            if case .edited(let edited) = verdict { notification = edited }
        }
        return .pass
    }

    private func ask(_ place: Int, _ signal: Signal, _ notification: Notification? = nil) -> FilterVerdict {
        let filter = filters.all[place]
        var question = question
        question.signal = signal
        question.recipientEvents = filter.wantedKinds.compactMap { lists[$0] }
        if filter.need == .nothing { question.followDistance = .unknown }
        question.notification = notification
        return filter.decide(question)
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
