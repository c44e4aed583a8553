import ArgumentParser
import CarillonRouter
import Foundation
import Operations
import Storage

/// `carillon store`
struct Store: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look through the databases, save what can be read of damaged ones, or move all of it.",
        subcommands: [Check.self, Rescue.self, Migrate.self]
    )

    /// `carillon store check`
    struct Check: ParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read registry and outbox from end to end and name everything wrong with them.",
            discussion: """
                Changes nothing, and may be run beside the router. Takes a second or so for each 100 MB. Exits with status 1 \
                when anything is wrong.

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
            abstract: "Save what can be read of a damaged registry or outbox into a new file beside it.",
            discussion: """
                The damaged file stays as it is, and so does what is not damaged. The router must not run. What could not be saved \
                is lost: devices until their apps register again, waiting pushes for good. Prints what to do then. Exits with \
                status 1 when nothing of a damaged one could be saved; the other is saved all the same.

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
            case .notThere: print("\(report.name) \(report.path): not there")
            case .sound: print("\(report.name) \(report.path): nothing is wrong with it")
            case .failed(let reason): Terminal.error(reason)
            case .saved(let rescued, let tables):
                print("\(report.name) \(report.path): saved into \(rescued)")
                for table in tables where !table.isWhole {
                    print("  \(table.name): \(table.rows) rows saved, others are lost")
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
                Registrations, paces, waiting deliveries, relay marks, what plugins keep, and the router's key. The router must not \
                run. Afterwards it starts on the new place only, so that nothing is pushed twice; the old files stay until you \
                delete them. When this is interrupted, run it again.

                  systemctl stop carillon
                  carillon store migrate --config /etc/carillon/carillon.yaml --to /srv/carillon

                To move to another machine use carillon backup create --retire. Exits with status 1 when nothing was moved.
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Option(help: "The new folder; it is made where it is missing.")
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
        abstract: "Make, check and put back a backup of everything that the router keeps.",
        subcommands: [Create.self, Verify.self, Restore.self]
    )

    /// The option for the key of an encrypted backup.
    struct IdentityOption: ParsableArguments {
        @Option(
            help: "The file with age's or SSH's private key that opens an encrypted backup. gpg looks in its keyring."
        )
        var identity: String?
    }

    /// `carillon backup create`
    struct Create: ParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write one consistent file, also while the router runs.",
            discussion: """
                Registry, outbox, trace and context as they are at one moment, in a tar archive with digests that only its user can \
                read. The key of the router is left out unless you ask for it: without the key the tokens in a backup cannot be \
                read, so keep the two apart or encrypt. --encrypt-to runs age for its own and SSH's public keys, and gpg for all \
                others; install the one that you use. As root this goes on as the user of the store's folder; to write where that \
                user may not, write to standard output (-).

                  carillon backup create --config /etc/carillon/carillon.yaml /var/backups/
                  carillon backup create --with-key --encrypt-to age1… carillon.tar.age
                  carillon backup create --with-key - | age --passphrase > carillon.tar.age
                  carillon backup create - | ssh other 'cat > carillon.tar'

                With --retire the router must not run, and does not start on this store again: for moving to another machine. \
                Exits with status 1 when no backup was made.
                """
        )

        @OptionGroup var config: ConfigurationOption

        @Argument(help: "The file to make, a folder to make one in, or - for standard output.")
        var target: String

        @Flag(help: "Include the router's key, the API's token and the secrets of registrations.")
        var withKey = false

        @Flag(help: "Include the configuration and the rules files.")
        var withConfig = false

        @Flag(help: "Leave out trace and context: what explain shows, and names and notes.")
        var essential = false

        @Option(
            help: ArgumentHelp(
                "Encrypt it: a public key of age (age1…) or SSH (ssh-ed25519 …), else a key or address of gpg's.",
                valueName: "recipient"
            )
        )
        var encryptTo: String?

        @Flag(help: "Let no router serve this store again: it goes on where the backup is restored.")
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
                Terminal.error("warning: this file holds the router's key and opens every token: see --encrypt-to")
            }
        }
    }

    /// `carillon backup verify`
    struct Verify: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read a whole backup, check everything, and say what is inside.",
            discussion: """
                Digests, both databases from end to end, whether this version reads them, and whether the key opens what is \
                sealed. Needs room for the databases in --temporary, and changes nothing else.

                  carillon backup verify carillon.tar --key /etc/carillon/carillon.key
                  carillon backup verify carillon.tar.age --identity key.txt
                  age --decrypt carillon.tar.age | carillon backup verify -

                Exits with status 1 when anything is wrong, also with single devices or deliveries.
                """
        )

        @OptionGroup var identity: IdentityOption

        @Argument(help: "The backup, or - for standard input.")
        var file: String

        @Option(help: "The router's key, where it is not in the backup.")
        var key: String?

        @Option(help: "A folder for copies of the databases meanwhile.")
        var temporary: String = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/var/tmp"

        @Flag(help: "Print one JSON object.")
        var json = false

        func run() throws {
            let report = try Terminal.sayingWhy {
                let progress = ProgressLine("Reading")
                defer { progress.end() }
                return try BackupVerification(path: file, identity: identity.identity, keyFile: key)
                    .run(folder: temporary, progress: progress.show)
            }
            Asking.show(report, asJSON: json)
            guard report.warnings.isEmpty else { throw ExitCode(1) }
            if !json { print("Everything is sound.") }
        }
    }

    /// `carillon backup restore`
    struct Restore: ParsableCommand, OwnerCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put a backup back as a store.",
            discussion: """
                Nothing is written over, and no router may run there. All of it appears or nothing; when this is interrupted, run it \
                again. Prints what to do next.

                What the other router sent after the backup was made is sent again, with the same ids. What came in since is read \
                again from relays. Deliveries that are older than a day end as expired at the start. --drop-waiting leaves out \
                all that wait in the backup.

                  carillon backup restore carillon.tar --store /var/lib/carillon/carillon.sqlite
                  carillon backup restore carillon.tar.age --identity key.txt --store /var/lib/carillon/carillon.sqlite

                Exits with status 1 when nothing was restored.
                """
        )

        @OptionGroup var identity: IdentityOption

        @Argument(help: "The backup, or - for standard input.")
        var file: String

        @Option(help: "The store to make: what store.path in the configuration is to say.")
        var store: String

        @Option(
            help: "Where the router's key goes, if it is in the backup; carillon.key beside the store when left out."
        )
        var key: String?

        @Flag(help: "Leave out deliveries that waited when the backup was made.")
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
                        : "An earlier restore to \(store), which was interrupted, is finished now."
                )
                return
            }
            Asking.show(report, asJSON: json)
        }
    }
}
