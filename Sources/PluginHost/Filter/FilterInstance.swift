import CarillonABI
import Dispatch
import HTTPLanes
import Logging
import Notifications
import Synchronization

/// A plugin's filter with its settings.
///
/// Whoever makes one calls ``drain(deadline:)`` before letting go of it; ``PluginHost`` does.
package final class FilterInstance: Sendable {
    /// How long a decision may take before that is a mistake of the plugin's, in milliseconds: the pipeline waits for it.
    private static let longestDecision: Int64 = 100

    package let name: String
    /// The replaceable events of a recipient that it looks at, ascending.
    package let wantedKinds: [UInt16]
    /// What it has to know of whom the recipient follows, as it is configured.
    package let need: FollowNeed
    /// Whether it is asked with the notification, once that is made.
    package let isAskedAfterRendering: Bool
    private let functions: FilterFunctions
    private let library: PluginLibrary
    private let door: HostDoor
    private let handle: TransportInstance.Handle
    private let draining = Mutex<Task<Bool, Never>?>(nil)

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
        library = blueprint.library
        var log = settings.log
        log[metadataKey: "plugin"] = "\(blueprint.pluginID)"
        log[metadataKey: "filter"] = "\(name)"
        let door = HostDoor(sender: settings.sender.share(), log: log, now: settings.now)
        self.door = door

        var configuration = configuration
        let created = library.setup.sync {
            configuration.withUTF8 { text in
                var pointer: UnsafeMutableRawPointer?
                let config = carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count)
                let (status, said) = ErrorRoom.lend { functions.create(door.openForPlugin(), config, &pointer, $0) }
                let needs = status == .CARILLON_OK ? functions.needs.map { $0(pointer) } : nil
                return (status, said, TransportInstance.Handle(pointer: pointer), needs)
            }
        }
        guard created.0 == .CARILLON_OK else {
            door.close()
            throw .refusedSettings(name, saying: created.1)
        }
        handle = created.2
        need = min(created.3.map(FilterFunctions.need) ?? functions.mostNeeded, functions.mostNeeded)
    }

    /// How the plugin kept to the rules so far.
    package var statistics: TransportStatistics { door.statistics }

    /// Asks the filter. Any thread; waits for the plugin, which is to be prompt.
    package func decide(_ question: FilterQuestion) -> FilterVerdict {
        let rendered = isAskedAfterRendering ? question.notification : nil
        guard let (number, pointer) = door.openEdit(rendered) else { return .failed(reason: "shut down") }
        let start = door.now()
        var verdict = carillon_verdict.CARILLON_PASS
        let status = question.lend(rendered, edit: pointer) { functions.decide(handle.pointer, $0, &verdict) }
        let duration = door.now() - start
        let edit = door.closeEdit(number)
        if duration > Self.longestDecision {
            door.note("The filter took more than \(Self.longestDecision) ms to decide", \.slowDecisions)
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
        door.note("The filter could not decide", \.failedDecisions)
        return .failed(reason: reason)
    }

    /// Decides nothing more, waits for what is under way until `deadline` (milliseconds of the clock given at the start), and
    /// destroys the plugin's instance. False when the plugin would not finish: its instance is then left alone for ever.
    package func drain(deadline: Int64) async -> Bool {
        let task = draining.withLock { draining in
            if let draining { return draining }
            let task = Task { await self.performDrain(deadline) }
            draining = task
            return task
        }
        return await task.value
    }

    private func performDrain(_ deadline: Int64) async -> Bool {
        door.change { state in
            _ = state.drain(deadline: deadline)
            state.leave()
        }
        guard await door.settled() else {
            door.log.error("The filter did not finish its work in time; its instance is left alone")
            return false
        }
        await withCheckedContinuation { continuation in
            library.setup.async { [functions, handle] in
                functions.destroy(handle.pointer)
                continuation.resume()
            }
        }
        return true
    }

    func now() -> Int64 { door.now() }

    /// To be called often enough while draining, such as four times a second: the deadline goes by it.
    func expireDeadlines() { door.change { _ in } }
}
