import Delivery
import EventTrace
import Nostr
import Notifications
import Pipeline
import Registry

/// Makes an explanation of what the trace holds of an event. Knows no files.
struct Explainer {
    /// What is known besides the event's history.
    struct Surroundings {
        var traceBegan: Int64?
        /// Those of the devices named that are registered.
        var devices: [DeviceID: DeviceListing] = [:]
        /// Of devices for which something waits, why and until when, in words.
        var waiting: [DeviceID: String] = [:]
        /// Whose part was asked for; nil: everybody's.
        var recipient: PublicKey?
    }

    let event: EventID
    let history: [TraceEntry]
    let surroundings: Surroundings

    /// `advice` is asked for where nothing is known.
    func explanation(advice: () -> [String]) -> EventExplanation {
        let accounts = accounts()
        let common = history.filter { $0.event != nil && $0.account == nil }.map(line)
        let isKnown = !accounts.isEmpty || !common.isEmpty
        return EventExplanation(
            event: event.hex,
            note: NIP19.note(event),
            isKnown: isKnown,
            tracedSince: surroundings.traceBegan.map { UTCTime(milliseconds: $0).stamp },
            steps: common,
            accounts: accounts,
            advice: accounts.isEmpty && (!isKnown || surroundings.recipient != nil) ? advice() : []
        )
    }

    private func accounts() -> [EventExplanation.Account] {
        var keys: [PublicKey] = []
        for case let account? in history.map(\.account) where !keys.contains(account) { keys.append(account) }
        return keys.filter { $0 == surroundings.recipient ?? $0 }.map(account)
    }

    private func account(_ key: PublicKey) -> EventExplanation.Account {
        let own = history.filter { $0.account == key }
        let shared = own.filter { $0.device == nil }.map(line)
        var devices: [DeviceID] = []
        for case let device? in own.map(\.device) where !devices.contains(device) { devices.append(device) }
        return EventExplanation.Account(
            account: key.hex,
            npub: NIP19.npub(key),
            steps: shared,
            devices: devices.map { device($0, own) },
            outcome: shared.last?.words
        )
    }

    private func device(_ device: DeviceID, _ own: [TraceEntry]) -> EventExplanation.Device {
        let deliveries = Set(own.filter { $0.device == device }.compactMap(\.delivery))
        let entries = history.filter { entry in
            entry.device == device
                && (entry.event != nil ? own.contains(entry) : entry.delivery.map(deliveries.contains) ?? false)
        }
        let steps = entries.map(line)
        let listing = surroundings.devices[device]
        return EventExplanation.Device(
            device: device.rawValue,
            name: listing?.slot.deviceID,
            platform: listing?.route.platform ?? steps.last { $0.platform != nil }?.platform,
            app: listing?.route.app ?? steps.last { $0.app != nil }?.app,
            isRegistered: listing != nil,
            steps: steps,
            outcome: outcome(entries.last, of: device)
        )
    }

    private func outcome(_ last: TraceEntry?, of device: DeviceID) -> String {
        guard let last else { return "" }
        switch last.what {
        case .step(PipelineStep.held.rawValue), .step(PipelineStep.batched.rawValue):
            // What was held is not any more where nothing is: its batch has gone under another's number.
            return surroundings.waiting[device].map { "held: \($0)" } ?? "held at first, and then part of a later push"
        case .step(PipelineStep.queued.rawValue): break
        default: return line(last).words
        }
        // The disk may have refused the batch after that was said of it.
        let end = history.last { $0.event != nil && ($0.account == nil || $0 == last) } ?? last
        if case .step(PipelineStep.notKept.rawValue) = end.what { return line(end).words }
        return "waits for its turn: no attempt has ended yet"
    }

    private func line(_ entry: TraceEntry) -> EventExplanation.Line {
        var line = EventExplanation.Line(
            at: UTCTime(milliseconds: entry.time).stamp,
            step: "",
            words: "",
            reason: entry.reason.isEmpty ? nil : entry.reason,
            delivery: entry.delivery
        )
        switch entry.what {
        case .step(let word):
            line.step = word
            line.words = PipelineStep(rawValue: word)?.words(entry.reason) ?? word
        case .report(let report):
            line.step = report.kind
            line.words = ReportWords.words(report, reason: entry.reason)
            line.platform = report.queue.platform
            line.app = report.queue.app
            line.status = report.status == 0 ? nil : report.status
            line.attempt = report.attempt
        }
        return line
    }
}
