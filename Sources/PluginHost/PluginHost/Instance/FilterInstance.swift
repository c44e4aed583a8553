import CarillonABI
import Core
import Foundation
import HTTPClient
import Logging
import PluginProtocol
import Push

/// A plugin's filter with its settings.
///
/// The owner must call ``drain(deadline:)`` before it releases the instance; ``PluginHost`` does.
package final class FilterInstance: DrainableInstance {
    /// The time limit of a decision, because the pipeline waits for it. A longer one counts as the plugin's error.
    private static let longestDecision: Duration = .milliseconds(100)
    private static let shutDown = "shut down"

    package let name: String
    /// The replaceable events of a recipient that it looks at, ascending.
    package let wantedKinds: [UInt16]
    /// The facts about the recipient's follows that it needs with its configuration.
    package let need: FollowNeed
    /// Whether it decides after rendering and gets the notification.
    package let isAskedAfterRendering: Bool
    private let instance: PluginInstance
    private let bridge: PluginBridge

    /// Creates the plugin's instance; blocks until the plugin has finished.
    init(
        _ blueprint: FilterBlueprint,
        configuration: String,
        settings: InstanceSettings
    ) throws(PluginError) {
        let entry = blueprint.entry
        name = entry.name
        wantedKinds = entry.wantedKinds
        isAskedAfterRendering = entry.isAskedAfterRendering
        var log = settings.log
        log[metadataKey: "plugin"] = "\(blueprint.pluginID)"
        log[metadataKey: "filter"] = "\(name)"
        bridge = PluginBridge(.filter(name), settings, log: log)
        let name = name
        instance = try PluginInstance(blueprint, .filter, bridge: bridge, configuration: configuration) {
            .refusedSettings(name, saying: $0)
        }
        let said = entry.functions.contains(.needs) ? FilterEntry.need(instance.isolated.needs) : entry.maxNeeded
        need = min(said, entry.maxNeeded)
    }

    /// The plugin's rule violations so far.
    package var statistics: TransportStatistics { bridge.statistics }

    /// Asks the filter. Any thread; blocks until the plugin decides.
    package func decide(_ question: FilterQuestion) -> FilterDecision {
        decide([question]).first ?? .failed(reason: Self.shutDown)
    }

    /// Asks the filter several questions in one batch; it decides them one after the other. Any thread; blocks until
    /// the plugin has decided.
    package func decide(_ questions: [FilterQuestion]) -> [FilterDecision] {
        var decisions: [FilterDecision] = []
        decisions.reserveCapacity(questions.count)
        while decisions.count < questions.count { decisions += ask(questions[decisions.count...]) }
        return decisions
    }

    /// Asks the first questions, up to one batch.
    private func ask(_ questions: ArraySlice<FilterQuestion>) -> [FilterDecision] {
        // A call inside keeps the instance from being destroyed.
        guard bridge.change({ $0.enter() }) else { return questions.map { _ in .failed(reason: Self.shutDown) } }
        defer { bridge.change { $0.leave() } }
        var asked: [Push.Notification?] = []
        var batch = instance.isolated.decisions()
        for question in questions where !batch.isFull {
            let rendered = isAskedAfterRendering ? question.notification : nil
            asked.append(rendered)
            batch.add(usually: question.usualBytes) { question.write(rendered, to: &$0) }
        }
        let start = bridge.now()
        let decisions = batch.ask()
        noteDuration(since: start, of: decisions.count)
        return zip(asked, decisions).map { rendered, decision in
            decision.read { convert($0, on: rendered) } ?? failed("status \(carillon_status.CARILLON_FAILED.rawValue)")
        }
    }

    /// Counts decisions that took too long on average.
    private func noteDuration(since start: Deadline, of count: Int) {
        guard bridge.now() - start > Self.longestDecision * count else { return }
        bridge.note("The filter took more than \(Self.longestDecision.milliseconds) ms to decide", \.slowDecisions)
    }

    private func convert(_ decided: DecidedMessage, on rendered: Push.Notification?) -> FilterDecision {
        var edit = FilterEdit(rendered)
        for set in decided.edits where edit.set(set.name, set.value) == .CARILLON_INVALID {
            bridge.note("The filter set an invalid field or value", \.malformedEdits)
        }
        guard decided.status == .CARILLON_OK else { return failed("status \(decided.status.rawValue)") }
        switch decided.decision {
        case .CARILLON_PASS:
            guard let rendered, let edited = edit.notification, edited != rendered else { return .pass }
            return .edited(edited)
        case .CARILLON_DROP: return .drop(reason: edit.reason)
        @unknown default: return failed("an unknown verdict")
        }
    }

    private func failed(_ reason: String) -> FilterDecision {
        bridge.note("The filter could not decide", \.failedDecisions)
        return .failed(reason: reason)
    }

    package func drain(deadline: Deadline) async -> Bool {
        await instance.drain { [bridge] in
            bridge.change { state in
                _ = state.drain(deadline: deadline)
                state.leave()
            }
        }
    }

    package func now() -> Deadline { bridge.now() }

    /// Ends a drain whose deadline has passed. A decision has no deadline.
    package func expireDeadlines() { bridge.change { _ in } }
}

/// A filter's edits within one call: the reason for a drop, and changes of the notification. Pure.
package struct FilterEdit: Sendable {
    private static let texts: [any WritableKeyPath<Push.Notification, String> & Sendable] = [
        \.title, \.subtitle, \.body, \.category, \.thread, \.collapseKey, \.url, \.data,
    ]

    private(set) var reason = ""
    private(set) var notification: Push.Notification?
    private let form: FilterForm

    /// `notification` is the rendered one; nil: not rendered yet.
    package init(_ notification: Push.Notification?) {
        self.notification = notification
        form = FilterForm(notification.flatMap { carillon_mode(rawValue: $0.mode.rawValue) })
    }

    /// Implements `carillon_filter_call.set`.
    package mutating func set(_ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
        switch form.check(field, value) {
        case .refused(let status): return status
        case .taken(let field, let bytes):
            let text = String(decoding: bytes, as: UTF8.self)
            switch field {
            case .reason: reason = text
            case .urgency: notification?.urgency = Urgency.allCases.first { $0.name == text } ?? .normal
            case .text(let index):
                let path = Self.texts[index]
                if path == \Push.Notification.data, !text.isEmpty, !Self.isObject(text) { return .CARILLON_INVALID }
                notification?[keyPath: path] = text
            }
            return .CARILLON_OK
        }
    }

    private static func isObject(_ text: String) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) is [String: Any]
    }
}

extension FilterQuestion {
    /// The usual size of the question.
    var usualBytes: Int { 1024 + event.count }

    /// Writes the question. `rendered` is the notification that goes with it.
    func write(_ rendered: Push.Notification?, to writer: inout FrameWriter) {
        writer.number(zapMillisats)
        writer.number(UInt64(clamping: now.milliseconds))
        writer.number(UInt32(bitPattern: followDistance.rawValue))
        writer.text(event)
        writer.text(recipient)
        writer.text(signal.rawValue)
        writer.text(author)
        writer.text(relation)
        writer.number(UInt32(clamping: recipientEvents.count))
        for event in recipientEvents { writer.text(event) }
        writer.number(rendered == nil ? UInt32(0) : 1)
        rendered?.writeForFilter(to: &writer)
    }
}
