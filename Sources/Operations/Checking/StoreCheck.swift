import Delivery
import Foundation
import Registry
import RouterConfiguration
import Storage

/// Checks the databases of a configuration by reading all of them. Changes nothing.
package struct StoreCheck {
    /// The result for one database.
    package struct Report: Sendable {
        package let path: String
        /// As in "the registry".
        package let name: String
        /// The state of a healthy database, such as "sound, 12 devices".
        package let state: String
        /// The problems, in sentences that name the database; empty if it is healthy or does not exist yet.
        package let findings: [String]
    }

    private let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// Returns the reports in the order in which the router opens the databases.
    package func reports() -> [Report] { [registry(), outbox()] }

    private func registry() -> Report {
        let path = configuration.store.path
        return report(path, RegistryStore.kind) {
            // If the outbox is unreadable, its own report has the reason.
            if let fault = try? configuration.lostRegistry() { throw fault }
            // Without the key, sealed values are not checked. Another check reports the missing key.
            let report = try RegistryExamination(
                path: path,
                identity: try? IdentityFile(path: configuration.identity.keyFile).read()
            ).run()
            return ("\(report.devices) devices", report.findings)
        }
    }

    private func outbox() -> Report {
        let path = configuration.store.outboxPath
        if let warning = configuration.lostOutboxWarning {
            return Report(path: path, name: Outbox.kind.name, state: "", findings: [warning])
        }
        return report(path, Outbox.kind) {
            let report = try OutboxExamination(path: path).run()
            return ("\(report.deliveries) waiting deliveries", report.findings)
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

/// Checks a database file without opening it with SQLite, which would change it.
enum SQLiteFile {
    /// Returns the problem of the file at `path`, as text to follow its name; nil if there is none, or no file yet.
    static func fault(of path: String) -> String? {
        var isFolder = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return nil }
        if isFolder.boolValue { return "is a folder; expected a file, or the path of a new one" }
        let isOurs =
            FileManager.default.isWritableFile(atPath: path) && FileManager.default.isReadableFile(atPath: path)
        return isOurs ? nil : "cannot be read and written by this user"
    }
}

/// Saves the readable rows of damaged databases into new files next to them.
package struct StoreSaving {
    /// The result for one database.
    package struct Report: Sendable {
        package let path: String
        /// As in "the registry".
        package let name: String
        package let outcome: Outcome

        /// The commands that replace the damaged file by the saved one and keep the damaged one; empty if no file was
        /// saved.
        package var commands: [String] {
            guard case .saved(let rescued, _) = outcome else { return [] }
            let hasLog = FileManager.default.fileExists(atPath: path + "-wal")
            return [move(path, to: path + "-damaged")]
                + (hasLog ? [move(path + "-wal", to: path + "-damaged-wal")] : [])
                // This file is only an index of the write-ahead log.
                + ["rm -f \(ShellWord.quoted(path + "-shm"))", move(rescued, to: path)]
        }

        private func move(_ old: String, to new: String) -> String {
            "mv \(ShellWord.quoted(old)) \(ShellWord.quoted(new))"
        }
    }

    package enum Outcome: Sendable {
        case notThere
        /// The database is healthy, so no file was written.
        case sound
        case saved(into: String, tables: [StoreRescue.Table])
        /// No file was saved; the message has the reason and the remaining options.
        case failed(String)
    }

    private let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// Returns one report for each database, because one may be saved although the other cannot. Throws a
    /// `StoreLockError` while a router runs on them.
    package func run() throws -> [Report] {
        let lock = try StoreLock(store: configuration.store.path)
        return withExtendedLifetime(lock) {
            [(configuration.store.path, RegistryStore.kind), (configuration.store.outboxPath, Outbox.kind)].map(report)
        }
    }

    private func report(_ path: String, _ kind: StoreKind) -> Report {
        let file = StoreFile(path: path, kind: kind)
        let outcome: Outcome
        do {
            outcome = try save(file)
        } catch let fault as StoreError {
            outcome = .failed(fault.descriptionAfterRescue)
        } catch {
            outcome = .failed("\(kind.name) \(path): \(error)")
        }
        return Report(path: path, name: kind.name, outcome: outcome)
    }

    private func save(_ file: StoreFile) throws -> Outcome {
        guard try file.exists() else {
            if file.path == configuration.store.path, let fault = try? configuration.lostRegistry() { throw fault }
            return .notThere
        }
        guard try isUnusable(file) else { return .sound }
        let rescued = file.path + "-rescued"
        return .saved(into: rescued, tables: try StoreRescue(file).save(to: rescued))
    }

    /// Whether the file is damaged or has a format that this version cannot read.
    private func isUnusable(_ file: StoreFile) throws -> Bool {
        do {
            return try !StoreInspection(file).thoroughFindings().isEmpty
        } catch let fault as StoreError {
            switch fault.cause {
            case .damaged, .version: return true
            default: throw fault
            }
        }
    }
}
