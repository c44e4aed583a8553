import ArgumentParser
import CarillonRouter
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
            let reports: [StoreSaving.Report]
            do {
                reports = try StoreSaving(configuration: try config.read()).run()
            } catch let code as ExitCode {
                throw code
            } catch {
                Terminal.error("\(error)")
                throw ExitCode(1)
            }
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
