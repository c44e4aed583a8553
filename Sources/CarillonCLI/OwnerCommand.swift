import ArgumentParser
import Glibc
import Operations
import RouterConfiguration

/// A command that opens or writes files in a folder that another user may own. If root starts it, the program runs as
/// that user before the command begins, so that no command runs twice.
protocol OwnerCommand: ParsableCommand {
    /// A file in that folder; nil if the command needs none.
    var ownersFile: String? { get throws }
}

/// A command that opens the databases of a configuration.
protocol StoreCommand: OwnerCommand {
    var config: ConfigurationOption { get }
}

extension StoreCommand {
    var ownersFile: String? {
        get throws { try config.read().storePath }
    }
}

extension OwnerCommand {
    /// Starts the program again as the owner if root runs it on another user's files. Call it before `run()`.
    func startAsOwner() throws {
        guard geteuid() == 0, let file = try ownersFile else { return }
        do throws(OperationFailure) {
            try FolderOwner.startAgain(asOwnerOf: file)
        } catch {
            Terminal.error("\(error)")
            throw ExitCode(1)
        }
    }
}
