import GRDB
import Notifications
import Storage

/// A look into every row of an outbox's file that changes nothing, also while a router runs on it.
package struct OutboxExamination: Sendable {
    /// What was found.
    package struct Report: Sendable {
        package var deliveries = 0
        /// What is wrong, each a sentence without any content.
        package var findings: [String] = []
    }

    private let file: StoreFile

    package init(path: String) {
        file = StoreFile(path: path, kind: Outbox.kind)
    }

    /// Throws a `StoreFault` when the file cannot even be opened, or is none of ours.
    package func run() throws -> Report {
        guard try file.exists() else { return Report() }
        var report = Report(findings: try StoreInspection(file).thoroughFindings())
        guard report.findings.isEmpty else { return report }
        try file.reading { database in
            let select = try RawStatement(database, "SELECT notification FROM outbox_delivery")
            defer { select.reset() }
            var unreadable = 0
            while try select.step() {
                report.deliveries += 1
                if (try? Notification(blob: select.bytes(at: 0))) == nil { unreadable += 1 }
            }
            if unreadable > 0 {
                report.findings.append("\(unreadable) deliveries cannot be read: they will be reported and removed")
            }
        }
        return report
    }
}
