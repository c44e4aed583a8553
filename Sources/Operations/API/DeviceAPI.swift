import Console
import Rules

/// Endpoints for events and devices.
struct DeviceAPI {
    private static let number = APIParameter.path("device", .integer(1...Int64.max), "A device's number.")

    let view: MemberView
    let notifier: Notifier

    var operations: [APIOperation] { [explain, list, show, remove, enable, test, resend] }

    private var explain: APIOperation {
        .report(
            .get("/v1/events/{event}/explain"),
            .events,
            "Explains the results of an event or a notification: the decision of each stage, for each account and device.",
            [
                .path(
                    "event",
                    .text(1_000),
                    "64 hex digits, note1… or nevent1…, or a link with one; or the `id` from POST /v1/notify."
                ),
                .query("recipient", .text(100), "Only this account: 64 hex digits or npub1…. Default: all accounts."),
            ]
        ) { [view, notifier] call in
            let (text, recipient) = (call.path("event"), call.query["recipient"])
            guard let request = OperatorWords.request(text) else {
                return try await view.explain(text, recipient: recipient)
            }
            var whole: EventExplanation?
            for event in try await notifier.events(of: request) {
                let part = try await view.explain(event, recipient: recipient)
                whole = whole?.joined(with: part) ?? part
            }
            guard let whole else { throw EventOperations.unknownRequest }
            return whole
        }
    }

    private var list: APIOperation {
        .report(
            .get("/v1/devices"),
            .devices,
            "Lists devices in the order of their numbers, with the results of their last pushes.",
            [
                .query("account", .text(100), "Only this account: 64 hex digits or npub1…. Default: all accounts."),
                .query("after", .integer(0...Int64.max), "`next` of the previous response."),
                .query("limit", .integer(1...Int64(DeviceOperations.page)), "Page size. Default: 1000."),
            ]
        ) { [view] call in
            try await view.devices(
                account: call.query["account"],
                after: call.query["after"].flatMap { Int64($0) },
                limit: call.query["limit"].flatMap { Int($0) } ?? DeviceOperations.page
            )
        }
    }

    private var show: APIOperation {
        .report(.get("/v1/devices/{device}"), .devices, "Returns a device's details.", [Self.number]) { [view] call in
            try await view.device(call.device)
        }
    }

    private var remove: APIOperation {
        .onDisk(
            .delete("/v1/devices/{device}"),
            .devices,
            "Forgets a device until its app registers again.",
            [Self.number]
        ) { [devices = view.users.devices] call in try devices.remove(call.device) }
    }

    private var enable: APIOperation {
        .onDisk(
            .post("/v1/devices/{device}/enable"),
            .devices,
            "Re-enables a device that was disabled because pushes to it failed for days.",
            [Self.number]
        ) { [devices = view.users.devices] call in try devices.enable(call.device) }
    }

    private var test: APIOperation {
        .report(
            .post("/v1/devices/{device}/test"),
            .devices,
            "Sends a test push to a device, and returns the push service's response.",
            [
                Self.number,
                .query("mode", .choice(["wake", "nudge", "sealed", "alert"]), "Default: the device's own mode."),
            ]
        ) { [devices = view.users.devices] call in try await devices.test(call.device, mode: call.query["mode"]) }
    }

    private var resend: APIOperation {
        .report(
            .post("/v1/devices/{device}/resend"),
            .devices,
            "Requeues the permanently failed pushes to a device, and immediately retries those that wait.",
            [Self.number, .query("dry_run", .flag, "Only count the pushes.")]
        ) { [devices = view.users.devices, view] call in
            let device = try call.device
            _ = try await DiskWork.run { try devices.show(device) }
            return try await view.retry(call.query.merging(["device": "\(device)"]) { $1 })
        }
    }
}

extension APICall {
    /// The device's number in the path.
    fileprivate var device: Int64 {
        get throws(OperationError) {
            guard let number = Int64(path("device")) else { throw .unknown("device: expected a number") }
            return number
        }
    }
}
