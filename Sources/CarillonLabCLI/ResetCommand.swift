import ArgumentParser

/// `carillon-lab reset`: a lab that runs forgets what came and what it was told.
struct ResetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Have a running lab forget what it received and everything it was told since its start.",
        discussion: """
            EXAMPLE
              carillon-lab reset --lab /tmp/lab
            """
    )

    @OptionGroup var lab: RunningLab

    func run() async throws {
        try await lab.order("POST", "/reset")
    }
}
