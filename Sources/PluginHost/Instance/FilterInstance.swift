import CarillonABI
import HTTPLanes
import Logging
import Notifications
import PluginIsolation
import Units

/// A plugin's filter with its settings.
///
/// Whoever makes one calls ``drain(deadline:)`` before letting go of it; ``PluginHost`` does.
package final class FilterInstance: DrainableInstance {
    /// The longest time for a decision: the pipeline waits for it. More counts as the plugin's mistake.
    private static let longestDecision: Duration = .milliseconds(100)
    private static let shutDown = "shut down"

    package let name: String
    /// The replaceable events of a recipient that it looks at, ascending.
    package let wantedKinds: [UInt16]
    /// What it needs to know about the recipient's follows, as it is configured.
    package let need: FollowNeed
    /// Whether it is asked with the notification, once that is made.
    package let isAskedAfterRendering: Bool
    private let functions: FilterFunctions
    private let instance: PluginInstance
    private let bridge: PluginBridge

    /// Asks the plugin for an instance; blocks for as long as that takes.
    init(
        _ blueprint: FilterBlueprint,
        configuration: String,
        settings: InstanceSettings
    ) throws(PluginError) {
        let functions = blueprint.functions
        name = functions.name
        wantedKinds = functions.wantedKinds
        isAskedAfterRendering = functions.isAskedAfterRendering
        self.functions = functions
        var log = settings.log
        log[metadataKey: "plugin"] = "\(blueprint.pluginID)"
        log[metadataKey: "filter"] = "\(name)"
        let bridge = PluginBridge(.filter(name), settings, log: log)
        self.bridge = bridge

        let name = name
        let instance = try PluginInstance(
            setup: blueprint.setup,
            create: functions.create,
            destroy: functions.destroy,
            bridge: bridge,
            configuration: configuration
        ) { .refusedSettings(name, saying: $0) }
        self.instance = instance
        let said = functions.needs.map { needs in FilterFunctions.need(instance.settingUp { needs($0) }) }
        need = min(said ?? functions.mostNeeded, functions.mostNeeded)
    }

    /// How the plugin kept to the rules so far.
    package var statistics: TransportStatistics { bridge.statistics }

    /// Asks the filter. Any thread; waits for the plugin, which is to be prompt.
    package func decide(_ question: FilterQuestion) -> FilterVerdict {
        let rendered = isAskedAfterRendering ? question.notification : nil
        guard let (number, pointer) = bridge.openEdit(rendered) else { return .failed(reason: Self.shutDown) }
        let start = bridge.now()
        var verdict = carillon_verdict.CARILLON_PASS
        let status = question.lend(rendered, edit: pointer) { functions.decide(instance.handle.pointer, $0, &verdict) }
        noteDuration(since: start, of: 1)
        return self.verdict(status, verdict, rendered, bridge.closeEdit(number))
    }

    /// Asks the filter several questions, one after the other as it sees them. One in a process of its own gets them
    /// together. Any thread; waits for the plugin, which is to be prompt.
    package func decide(_ questions: [FilterQuestion]) -> [FilterVerdict] {
        guard let begin = functions.decisions, questions.count > 1 else { return questions.map(decide) }
        var verdicts: [FilterVerdict] = []
        verdicts.reserveCapacity(questions.count)
        while verdicts.count < questions.count { verdicts += ask(questions[verdicts.count...], begin) }
        return verdicts
    }

    /// Asks the first questions, as many as fit into a batch.
    private func ask(
        _ questions: ArraySlice<FilterQuestion>,
        _ begin: FilterFunctions.Decisions
    ) -> [FilterVerdict] {
        var opened: [(number: UInt64, pointer: OpaquePointer, rendered: Notification?)] = []
        var begun: DecisionBatch?
        for question in questions where begun?.isFull != true {
            let rendered = isAskedAfterRendering ? question.notification : nil
            guard let (number, pointer) = bridge.openEdit(rendered) else { break }
            opened.append((number, pointer, rendered))
            // Not before: the instance may be gone unless an edit is open.
            if begun == nil { begun = begin(instance.handle.pointer) }
            question.lend(rendered, edit: pointer) { begun?.add($0.pointee) }
        }
        guard let batch = begun else {
            for edit in opened { _ = bridge.closeEdit(edit.number) }
            return questions.map { _ in .failed(reason: Self.shutDown) }
        }
        let start = bridge.now()
        let decisions = batch.ask()
        noteDuration(since: start, of: decisions.count)
        return zip(opened, decisions).map { opened, decision in
            var verdict = carillon_verdict.CARILLON_PASS
            let status = decision.read(&verdict) { _ = filterSet(opened.pointer, $0, $1) }
            return self.verdict(status, verdict, opened.rendered, bridge.closeEdit(opened.number))
        }
    }

    /// Notes when decisions have taken too long, on average.
    private func noteDuration(since start: Deadline, of count: Int) {
        guard bridge.now() - start > Self.longestDecision * count else { return }
        bridge.note("The filter took more than \(Self.longestDecision.milliseconds) ms to decide", \.slowDecisions)
    }

    private func verdict(
        _ status: carillon_status,
        _ verdict: carillon_verdict,
        _ rendered: Notification?,
        _ edit: FilterEdit
    ) -> FilterVerdict {
        guard status == .CARILLON_OK else { return failed("status \(status.rawValue)") }
        switch verdict {
        case .CARILLON_PASS:
            guard let rendered, let edited = edit.notification, edited != rendered else { return .pass }
            return .edited(edited)
        case .CARILLON_DROP: return .drop(reason: edit.reason)
        @unknown default: return failed("an unknown verdict")
        }
    }

    private func failed(_ reason: String) -> FilterVerdict {
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

    /// A decision has no deadline of its own; this lets the drain's deadline pass.
    package func expireDeadlines() { bridge.change { _ in } }
}
