import Delivery
import Foundation
import Registry
import RouterConfiguration
import Storage

/// Everything wrong with the databases of a configuration, found by reading all of them. Changes nothing.
package struct StoreCheck {
    /// What is to be said of one of them.
    package struct Report: Sendable {
        package let path: String
        /// As in "the registry".
        package let name: String
        /// What there is to say of it where nothing is wrong, such as "sound, 12 devices".
        package let state: String
        /// What is wrong, in sentences that name it; none when it is sound or not there yet.
        package let findings: [String]
    }

    private let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// In the order in which a start opens them.
    package func reports() -> [Report] { [registry(), outbox()] }

    private func registry() -> Report {
        let path = configuration.storePath
        return report(path, RegistryStore.kind) {
            // Where the outbox cannot be looked into, its own report says why.
            if let fault = try? LostRegistry.fault(configuration) { throw fault }
            // Without our key what is sealed cannot be looked into; that it is missing is another check's to say.
            let report = try RegistryExamination(
                path: path,
                identity: try? IdentityFile(path: configuration.keyFile).read()
            ).run()
            return ("\(report.devices) devices", report.findings)
        }
    }

    private func outbox() -> Report {
        let path = configuration.outboxPath
        if let warning = LostOutbox.warning(configuration) {
            return Report(path: path, name: Outbox.kind.name, state: "", findings: [warning])
        }
        return report(path, Outbox.kind) {
            let report = try OutboxExamination(path: path).run()
            return ("\(report.deliveries) deliveries that wait", report.findings)
        }
    }

    private func report(_ path: String, _ kind: StoreKind, _ body: () throws -> (String, [String])) -> Report {
        do {
            let (content, findings) = try body()
            let isThere = try StoreFile(path: path, kind: kind).exists()
            let sentences = findings.map { "\(kind.name) \(path) is damaged: \($0)" }
            let state = isThere ? "sound, \(content)" : "not there yet"
            return Report(path: path, name: kind.name, state: state, findings: sentences)
        } catch {
            return Report(path: path, name: kind.name, state: "", findings: ["\(error)"])
        }
    }
}

/// A look at a database file that does not open it, as opening would change it.
enum SQLiteFile {
    /// What is wrong with the file at `path`, to be said after its name; nil when nothing is, or when there is none
    /// yet.
    static func fault(of path: String) -> String? {
        var isFolder = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return nil }
        if isFolder.boolValue { return "is a folder; expected a file, or the name of one to be made" }
        let isOurs =
            FileManager.default.isWritableFile(atPath: path) && FileManager.default.isReadableFile(atPath: path)
        return isOurs ? nil : "cannot be read and written by this user"
    }
}
