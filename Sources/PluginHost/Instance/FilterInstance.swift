import CarillonABI
import HTTPLanes
import Logging
import Notifications
import Units

/// A plugin's filter with its settings.
///
/// Whoever makes one calls ``drain(deadline:)`` before letting go of it; ``PluginHost`` does.
package final class FilterInstance: DrainableInstance {
    /// The longest time for a decision: the pipeline waits for it. More counts as the plugin's mistake.
    private static let longestDecision: Duration = .milliseconds(100)

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
        let bridge = PluginBridge(sender: settings.sender.share(), log: log, now: settings.now)
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
        guard let (number, pointer) = bridge.openEdit(rendered) else { return .failed(reason: "shut down") }
        let start = bridge.now()
        var verdict = carillon_verdict.CARILLON_PASS
        let status = question.lend(rendered, edit: pointer) { functions.decide(instance.handle.pointer, $0, &verdict) }
        let duration = bridge.now() - start
        let edit = bridge.closeEdit(number)
        if duration > Self.longestDecision {
            bridge.note("The filter took more than \(Self.longestDecision.milliseconds) ms to decide", \.slowDecisions)
        }
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
