import ArgumentParser
import CarillonRouter
import Foundation
import Operations
import Storage

/// `carillon store`
struct Store: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check, rescue or move the databases.",
        subcommands: [Check.self, Rescue.self, Migrate.self]
    )

    /// `carillon store check`
    struct Check: ParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check the whole registry and outbox for damage.",
            discussion: """
                Changes nothing, and can run while the router runs. Needs about a second for each 100 MB. Exits with \
                status 1 if there is any damage.

                  carillon store check --config carillon.yaml
                """
        )

        @OptionGroup var config: ConfigurationOption

        func run() throws {
            let reports = StoreCheck(configuration: try config.read()).reports()
            for report in reports {
                if report.findings.isEmpty {
                    print("\(report.name) \(report.path): \(report.state)")
                } else {
                    for finding in report.findings { Terminal.error(finding) }
                }
            }
            if reports.contains(where: { !$0.findings.isEmpty }) { throw ExitCode(1) }
        }
    }

    /// `carillon store rescue`
    struct Rescue: ParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Rescue a damaged registry or outbox into a new file next to it.",
            discussion: """
                Damaged and intact files stay unchanged. Stop the router first. Devices that cannot be saved are lost \
                until their apps register again, and waiting pushes permanently. Prints the next steps. Exits with \
                status 1 if no data of a damaged database could be saved; the other database is saved nevertheless.

                  carillon store rescue --config carillon.yaml
                """
        )

        @OptionGroup var config: ConfigurationOption

        func run() throws {
            let reports = try Terminal.sayingWhy { try StoreSaving(configuration: try config.read()).run() }
            for report in reports { show(report) }
            let isEverythingWell = reports.allSatisfy { report in
                if case .failed = report.outcome { false } else { true }
            }
            if !isEverythingWell { throw ExitCode(1) }
        }

        private func show(_ report: StoreSaving.Report) {
            switch report.outcome {
            case .notThere: print("\(report.name) \(report.path): does not exist")
            case .sound: print("\(report.name) \(report.path): no damage found")
            case .failed(let reason): Terminal.error(reason)
            case .saved(let rescued, let tables):
                print("\(report.name) \(report.path): saved into \(rescued)")
                for table in tables where !table.isWhole {
                    print("  \(table.name): \(table.rows) rows saved, the rest are lost")
                }
                print("To use it:")
                for command in report.commands { print("  \(command)") }
            }
        }
    }

    /// `carillon store migrate`
    struct Migrate: ParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move the databases and the key to another folder.",
            discussion: """
                Moves registrations, throttling state, waiting deliveries, relay marks, plugins' data and the router's \
                key. Stop the router first. Afterwards it starts only at the new place, so that no push is sent twice; \
                the old files stay until you delete them. If this is interrupted, run it again.

                  systemctl stop carillon
                  carillon store migrate --config /etc/carillon/carillon.yaml --to /srv/carillon

                To move to another machine use carillon backup create --retire. Exits with status 1 if nothing was moved.
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Option(help: "The new folder, created if it does not exist.")
        var to: String

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() throws {
            let configuration = try config.read()
            let progress = ProgressLine("Copying")
            let report = try Terminal.sayingWhy {
                try StoreMigration(configuration: configuration, folder: to).run(progress: progress.show)
            }
            progress.end()
            Asking.show(report, asJSON: json)
        }
    }
}

/// `carillon backup`
struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create, check and restore a backup of all data of the router.",
        subcommands: [Create.self, Verify.self, Restore.self]
    )

    /// The option for the key of an encrypted backup.
    struct IdentityOption: ParsableArguments {
        @Option(
            help: "The private key file of age or SSH for an encrypted backup. gpg uses its keyring."
        )
        var identity: String?
    }

    /// `carillon backup create`
    struct Create: ParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a consistent backup file, even while the router runs.",
            discussion: """
                The backup is a tar archive of the registry, outbox, trace and context at one moment, with digests, \
                readable only by its user. It does not contain the router's key unless you add --with-key. Without the \
                key the tokens in a backup cannot be read, so keep both apart or encrypt. --encrypt-to uses age for \
                its own and SSH public keys, and gpg for all others; install the one that you need. Under root this \
                continues as the user of the store's folder; to write elsewhere, use standard output (-).

                  carillon backup create --config /etc/carillon/carillon.yaml /var/backups/
                  carillon backup create --with-key --encrypt-to age1… carillon.tar.age
                  carillon backup create --with-key - | age --passphrase > carillon.tar.age
                  carillon backup create - | ssh other 'cat > carillon.tar'

                With --retire, for moving to another machine, stop the router first; it can no longer start on this \
                store. Exits with status 1 if no backup was created.
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "The file to create, a folder for it, or - for standard output.")
        var target: String

        @Flag(help: "Include the router's key, the API's token and the secrets of registrations.")
        var withKey = false

        @Flag(help: "Include the configuration and the rules files.")
        var withConfig = false

        @Flag(help: "Omit trace and context: the history for explain, and names and notes.")
        var essential = false

        @Option(
            help: ArgumentHelp(
                "Encrypt it: a public key of age (age1…) or SSH (ssh-ed25519 …), or a key or address for gpg.",
                valueName: "recipient"
            )
        )
        var encryptTo: String?

        @Flag(help: "Retire this store: only a restored backup can be used.")
        var retire = false

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() throws {
            let configuration = try config.read()
            let report = try Terminal.sayingWhy {
                var options = BackupCreation.Options()
                options.withKey = withKey
                options.withConfiguration = withConfig
                options.withCaches = !essential
                options.retires = retire
                options.recipient = encryptTo
                let creation = BackupCreation(configuration: configuration, options: options)
                let progress = ProgressLine("Copying")
                defer { progress.end() }
                return try creation.run(to: creation.path(for: target), copying: progress.show)
            }
            if target != "-" {
                Asking.show(report, asJSON: json)
            }
            if withKey, encryptTo == nil, target != "-" {
                Terminal.error("warning: this file holds the router's key and decrypts every token: see --encrypt-to")
            }
        }
    }

    /// `carillon backup verify`
    struct Verify: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check a whole backup and show its contents.",
            discussion: """
                Checks digests, both databases completely, whether this version can read them, and whether the key \
                decrypts the registry. Needs space for the databases in --temporary, and changes no other files.

                  carillon backup verify carillon.tar --key /etc/carillon/carillon.key
                  carillon backup verify carillon.tar.age --identity key.txt
                  age --decrypt carillon.tar.age | carillon backup verify -

                Exits with status 1 on any error, even in single devices or deliveries.
                """
        )

        @OptionGroup var identity: IdentityOption

        @Argument(help: "The backup, or - for standard input.")
        var file: String

        @Option(help: "The router's key, if it is not in the backup.")
        var key: String?

        @Option(help: "A folder for temporary copies of the databases.")
        var temporary: String = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/var/tmp"

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() throws {
            let report = try Terminal.sayingWhy {
                let progress = ProgressLine("Reading")
                defer { progress.end() }
                return try BackupReport(
                    verifying: file,
                    identity: identity.identity,
                    keyFile: key,
                    in: temporary,
                    progress: progress.show
                )
            }
            Asking.show(report, asJSON: json)
            guard report.warnings.isEmpty else { throw ExitCode(1) }
            if !json { print("No errors found.") }
        }
    }

    /// `carillon backup restore`
    struct Restore: ParsableCommand, OwnerCommand {
        static let configuration = CommandConfiguration(
            abstract: "Restore a backup as a new store.",
            discussion: """
                No file is overwritten, and no router may run there. The restore is complete or has no effect; if it \
                is interrupted, run it again. Prints the next steps.

                Pushes that the other router sent after the backup are sent again, with the same ids. Later events are \
                read again from relays. Deliveries older than a day expire at the start. --drop-waiting omits all \
                waiting deliveries of the backup.

                  carillon backup restore carillon.tar --store /var/lib/carillon/carillon.sqlite
                  carillon backup restore carillon.tar.age --identity key.txt --store /var/lib/carillon/carillon.sqlite

                Exits with status 1 if nothing was restored.
                """
        )

        @OptionGroup var identity: IdentityOption

        @Argument(help: "The backup, or - for standard input.")
        var file: String

        @Option(help: "The store to create: the value for store.path in the configuration.")
        var store: String

        @Option(
            help: "The file for the router's key, if it is in the backup. Default: carillon.key next to the store."
        )
        var key: String?

        @Flag(help: "Omit deliveries that waited when the backup was created.")
        var dropWaiting = false

        @Flag(help: "Print one JSON object.")
        var json = false

        var ownersFile: String? { URL(fileURLWithPath: store).standardizedFileURL.path }

        func run() throws {
            let store = URL(fileURLWithPath: store).standardizedFileURL.path
            let report = try Terminal.sayingWhy {
                let progress = ProgressLine("Restoring")
                defer { progress.end() }
                return try BackupRestore(
                    path: file,
                    identity: identity.identity,
                    store: store,
                    keyFile: key.map { URL(fileURLWithPath: $0).standardizedFileURL.path },
                    dropsWaiting: dropWaiting
                ).run(progress: progress.show)
            }
            guard let report else {
                print(
                    json
                        ? "{\"finished\":true}"
                        : "An earlier restore to \(store), which was interrupted, is now complete."
                )
                return
            }
            Asking.show(report, asJSON: json)
        }
    }
}
