/// Devices in the order of their numbers, as far as one answer goes.
package struct DeviceList: OperatorAnswer, Equatable {
    package var devices: [DeviceOverview]
    /// Behind which device the next answer begins; nil: there are no more.
    package var next: Int64?

    package var text: String { devices.isEmpty ? "no devices" : table(withHead: true) }

    /// A row for each; columns are as wide as these devices need.
    package func table(withHead: Bool) -> String {
        let head = [
            "DEVICE", "ACCOUNT", "NAME", "PLATFORM", "MODE", "LAST SUCCESS", "LAST ERROR", "TODAY", "NEXT PUSH",
        ]
        return TextTable.lines((withHead ? [head] : []) + devices.map(\.row)).joined(separator: "\n")
    }
}

extension DeviceOverview {
    fileprivate var row: [String] {
        [
            "\(device)", "\(npub.prefix(12))…\(npub.suffix(4))", name.isEmpty ? "-" : String(name.prefix(20)),
            "\(platform)/\(app)", mode ?? "default", lastSuccess.map { "\($0.at.prefix(16))Z" } ?? "-",
            lastError.map {
                "\($0.at.prefix(16))Z "
                    + ReportWords.short(kind: $0.outcome, status: $0.status ?? 0, reason: $0.reason ?? "")
            } ?? "-",
            pace?.pushesToday.map(String.init) ?? "-",
            queuePause.map { _ in "paused" }
                ?? pace.map { $0.nextPushAt.map { "\($0.prefix(16))Z" } ?? $0.reason ?? "at once" } ?? "-",
        ]
    }
}
