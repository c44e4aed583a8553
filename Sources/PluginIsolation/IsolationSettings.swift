import Units

/// Where a plugin's code runs.
package enum Isolation: String, Sendable, CaseIterable {
    /// In a process of its own.
    case process
    /// In one process with all others that share.
    case shared
    /// In the router itself.
    case none
}

/// How the processes are kept that plugins run in.
package struct IsolationSettings: Sendable, Equatable {
    /// What holds for a plugin that `plugins` does not name: nil, for those shipped with Carillon `shared`, for every
    /// other `process`.
    package var usual: Isolation?
    /// By the name of the plugin's file.
    package var plugins: [String: Isolation] = [:]
    /// How long loading, creating, a call or a process's answer may take before the process is killed.
    package var deadline: Duration = .seconds(10)
    /// The same for `validate`, `check` and `decide`, which somebody waits for.
    package var questionDeadline: Duration = .seconds(1)
    /// The second pause before a process that died is started again; the first is none, and later ones double. Zero:
    /// it is always started at once, which is for tests.
    package var pause: Duration = .seconds(1)
    /// The most data memory of a process; nil: no limit.
    package var memory: ByteCount? = .mebibytes(256)
    /// The most of one core that a process may take on average over ten seconds; 1 is a whole core, nil is no limit.
    package var processors: Double?
    /// Whether processes give up their rights to files, network and programs.
    package var isSandboxed = true
    /// The program that loads plugins in their processes.
    package var program: String
    /// What runs plugins in Python.
    package var python = PythonPrograms()

    package init(program: String) { self.program = program }
}

/// What runs plugins in Python in their processes.
package struct PythonPrograms: Sendable, Hashable, Codable {
    /// The interpreter; empty: there is none.
    package var interpreter: String
    /// The program that it runs; empty: there is none.
    package var program: String
    /// Whether exceptions are written out with their texts, which may hold secrets: for a plugin's author.
    package var showsErrors = false

    package init(interpreter: String = "", program: String = "") {
        self.interpreter = interpreter
        self.program = program
    }
}

/// How the process of one or several plugins is doing, for `plugin list`, `/readyz` and metrics.
package struct PluginProcessReport: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case running
        /// It has ended and is started again after a pause.
        case restarting
        /// It has ended too often; it is tried once a minute.
        case pausing
    }

    /// The file names of the plugins in it.
    package var plugins: [String]
    package var process: Int32?
    package var state: State
    package var deaths: Int
    /// What is known about the last death: the plugin's name, the signal, the top of the stack; one line.
    package var lastDeath: String?
    /// Deliveries that ended as `plugin-crashed`.
    package var setAside: Int
    /// What confines it, such as "files, system calls"; empty: nothing does.
    package var confinement: String

    package init(
        plugins: [String],
        process: Int32?,
        state: State,
        deaths: Int,
        lastDeath: String?,
        setAside: Int,
        confinement: String
    ) {
        self.plugins = plugins
        self.process = process
        self.state = state
        self.deaths = deaths
        self.lastDeath = lastDeath
        self.setAside = setAside
        self.confinement = confinement
    }
}
