import ArgumentParser
import CarillonRouter
import Foundation
import Operations

/// `carillon backup`
struct Backup: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make, check and put back a backup of everything that the router keeps.",
        subcommands: [Create.self, Verify.self, Restore.self]
    )

    /// Where the passphrase of an encrypted backup comes from.
    struct PassphraseOption: ParsableArguments {
        @Option(help: "A file whose first line is the passphrase; else it is asked for on the terminal.")
        var passphraseFile: String?
    }

    /// `carillon backup create`
    struct Create: ParsableCommand, StoreCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write one consistent file, also while the router runs.",
            discussion: """
                Registry, outbox, trace and context as they are at one moment. Without --encrypt it is a tar archive with digests. \
                The key of the router is left out unless asked for: without it nobody reads the tokens in a backup, so keep the \
                two apart or encrypt. As root this goes on as the user of the store's folder; to write where that user may not, \
                write to standard output (-).

                  carillon backup create --config /etc/carillon/carillon.yaml /var/backups/
                  carillon backup create --with-key --encrypt --passphrase-file /root/passphrase carillon.tar.sealed
                  carillon backup create - | ssh other 'cat > carillon.tar'

                With --retire the router must not run, and does not start on this store again: for moving to another machine. \
                Exits with status 1 when no backup was made.
                """
        )

        @OptionGroup var config: ConfigurationOption

        @OptionGroup var passphrase: PassphraseOption

        @Argument(help: "The file to make, a folder to make one in, or - for standard output.")
        var target: String

        @Flag(help: "Include the router's key, the API's token and the secrets of registrations.")
        var withKey = false

        @Flag(help: "Include the configuration and the rules files.")
        var withConfig = false

        @Flag(help: "Leave out trace and context: what explain shows, and names and notes.")
        var essential = false

        @Flag(help: "Encrypt it with a passphrase.")
        var encrypt = false

        @Flag(help: "Let no router serve this store again: it goes on where the backup is restored.")
        var retire = false

        @Flag(help: "Print one JSON object.")
        var json = false

        func validate() throws {
            if passphrase.passphraseFile != nil, !encrypt {
                throw ValidationError("--passphrase-file is for --encrypt, which is missing")
            }
        }

        func run() throws {
            let configuration = try config.read()
            let report = try Terminal.sayingWhy {
                var options = BackupCreation.Options()
                options.withKey = withKey
                options.withConfiguration = withConfig
                options.withCaches = !essential
                options.retires = retire
                if encrypt { options.passphrase = try Passphrase(file: passphrase.passphraseFile).read(isNew: true) }
                let creation = BackupCreation(configuration: configuration, options: options)
                let (copying, writing) = (ProgressLine("Copying"), ProgressLine("Writing"))
                defer { writing.end() }
                return try creation.run(to: creation.path(for: target), copying: copying.show, writing: writing.show)
            }
            if target != "-" {
                Asking.show(report, asJSON: json)
            }
            if withKey, !encrypt {
                Terminal.error("warning: whoever reads this file has the router's key and every token: see --encrypt")
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

                Exits with status 1 when anything is wrong, also with single devices or deliveries.
                """
        )

        @OptionGroup var passphrase: PassphraseOption

        @Argument(help: "The backup.")
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
                return try BackupVerification(path: file, keyFile: key).run(
                    folder: temporary,
                    passphrase: { try Passphrase(file: passphrase.passphraseFile).read(isNew: false) },
                    progress: progress.show
                )
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

                Exits with status 1 when nothing was restored.
                """
        )

        @OptionGroup var passphrase: PassphraseOption

        @Argument(help: "The backup.")
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
                    store: store,
                    keyFile: key.map { URL(fileURLWithPath: $0).standardizedFileURL.path },
                    dropsWaiting: dropWaiting
                ).run(
                    passphrase: { try Passphrase(file: passphrase.passphraseFile).read(isNew: false) },
                    progress: progress.show
                )
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
