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
            if let fault = try? configuration.lostRegistry() { throw fault }
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
        if let warning = configuration.lostOutboxWarning {
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

/// Saves what can be read of damaged databases into new files beside them.
package struct StoreSaving {
    /// What became of one of them.
    package struct Report: Sendable {
        package let path: String
        /// As in "the registry".
        package let name: String
        package let outcome: Outcome

        /// What an operator runs to put what was saved in the damaged one's place, which is kept; none where nothing
        /// was.
        package var commands: [String] {
            guard case .saved(let rescued, _) = outcome else { return [] }
            let hasLog = FileManager.default.fileExists(atPath: path + "-wal")
            return [move(path, to: path + "-damaged")]
                + (hasLog ? [move(path + "-wal", to: path + "-damaged-wal")] : [])
                // It only says where what is in the log.
                + ["rm -f \(ShellWord.quoted(path + "-shm"))", move(rescued, to: path)]
        }

        private func move(_ old: String, to new: String) -> String {
            "mv \(ShellWord.quoted(old)) \(ShellWord.quoted(new))"
        }
    }

    package enum Outcome: Sendable {
        case notThere
        /// Nothing is wrong with it, and nothing was done.
        case sound
        case saved(into: String, tables: [StoreRescue.Table])
        /// Nothing was saved; why, and the ways out that are left.
        case failed(String)
    }

    private let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// One report for each, as what stands against saving one says nothing of the other. Nobody may write meanwhile:
    /// throws a `StoreLockError` while a router runs on them.
    package func run() throws -> [Report] {
        let lock = try StoreLock(store: configuration.storePath)
        return withExtendedLifetime(lock) {
            [(configuration.storePath, RegistryStore.kind), (configuration.outboxPath, Outbox.kind)].map(report)
        }
    }

    private func report(_ path: String, _ kind: StoreKind) -> Report {
        let file = StoreFile(path: path, kind: kind)
        let outcome: Outcome
        do {
            outcome = try save(file)
        } catch let fault as StoreFault {
            outcome = .failed(fault.descriptionAfterRescue)
        } catch {
            outcome = .failed("\(kind.name) \(path): \(error)")
        }
        return Report(path: path, name: kind.name, outcome: outcome)
    }

    private func save(_ file: StoreFile) throws -> Outcome {
        guard try file.exists() else {
            if file.path == configuration.storePath, let fault = try? configuration.lostRegistry() { throw fault }
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
        } catch let fault as StoreFault {
            switch fault.cause {
            case .damaged, .version: return true
            default: throw fault
            }
        }
    }
}
