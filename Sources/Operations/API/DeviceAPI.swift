import Console
import Rules

/// Endpoints for events and devices.
struct DeviceAPI {
    private static let number = APIParameter.path("device", .integer(1...Int64.max), "A device's number.")

    let devices: DeviceOperations
    let view: MemberView
    let notifier: Notifier

    var operations: [APIOperation] { [explain, list, show, remove, enable, test, resend] }

    private var explain: APIOperation {
        .report(
            .get("/v1/events/{event}/explain"),
            .events,
            "What became of an event, or of a notification: the decision of each stage, for each account and device.",
            [
                .path(
                    "event",
                    .text(1_000),
                    "64 hex digits, note1… or nevent1…, also in a link; or the `id` that POST /v1/notify answered."
                ),
                .query("recipient", .text(100), "Whose part; everybody's when left out. 64 hex digits or npub1…."),
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
            "Devices in the order of their numbers, and how pushes to them went.",
            [
                .query("account", .text(100), "Whose; everybody's when left out. 64 hex digits or npub1…."),
                .query("after", .integer(0...Int64.max), "`next` of the answer before."),
                .query("limit", .integer(1...Int64(DeviceOperations.page)), "How many at most; 1000."),
            ]
        ) { [view] call in
            try await view.devices.list(
                account: call.query["account"],
                after: call.query["after"].flatMap { Int64($0) },
                limit: call.query["limit"].flatMap { Int($0) } ?? DeviceOperations.page
            )
        }
    }

    private var show: APIOperation {
        .report(.get("/v1/devices/{device}"), .devices, "What is known of a device.", [Self.number]) { [view] call in
            try await view.devices.show(call.device)
        }
    }

    private var remove: APIOperation {
        .onDisk(
            .delete("/v1/devices/{device}"),
            .devices,
            "Forgets a device until its app registers again.",
            [Self.number]
        ) { [devices] call in try devices.remove(call.device) }
    }

    private var enable: APIOperation {
        .onDisk(
            .post("/v1/devices/{device}/enable"),
            .devices,
            "Switches a device on that was switched off since pushes to it failed for days.",
            [Self.number]
        ) { [devices] call in try devices.enable(call.device) }
    }

    private var test: APIOperation {
        .report(
            .post("/v1/devices/{device}/test"),
            .devices,
            "Pushes to a device at once, and answers with what the push service said.",
            [
                Self.number,
                .query("mode", .choice(["wake", "nudge", "sealed", "alert"]), "The device's own when left out."),
            ]
        ) { [devices] call in try await devices.test(call.device, mode: call.query["mode"]) }
    }

    private var resend: APIOperation {
        .report(
            .post("/v1/devices/{device}/resend"),
            .devices,
            "Sends again what failed for good to a device, and makes due what waits for a later time.",
            [Self.number, .query("dry_run", .flag, "Only say how many.")]
        ) { [devices, view] call in
            let device = try call.device
            _ = try await DiskWork.run { try devices.show(device) }
            return try await view.retry(call.query.merging(["device": "\(device)"]) { $1 })
        }
    }
}

extension APICall {
    /// The device's number in the path.
    fileprivate var device: Int64 {
        get throws(OperationFailure) {
            guard let number = Int64(path("device")) else { throw .unknown("device: expected a number") }
            return number
        }
    }
}
