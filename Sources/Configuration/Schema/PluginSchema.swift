import JSON
import Rules

/// The schema of the block `plugins`.
enum PluginSchema {
    static var schema: JSONValue {
        SchemaParts.mapping(
            "The folders of plugins, and the limits of the processes that plugins run in. The plugins that come with Carillon "
                + "share a process, and every other has its own.",
            places + processes
        )
    }

    private static var places: [SchemaParts.Member] {
        [
            (
                "folders",
                SchemaParts.oneOrMore(
                    "Searched in this order; the first library of a name wins. Default: the plugins installed with the "
                        + "program."
                )
            ),
            (
                "sha256",
                [
                    "description": "By a library's file name its SHA-256: one that differs is refused.",
                    "type": "object",
                    "additionalProperties": ["type": "string", "pattern": "^[0-9A-Fa-f]{64}$"],
                ]
            ),
        ]
    }

    private static var processes: [SchemaParts.Member] {
        [
            (
                "deadline_seconds",
                SchemaParts.integer(
                    "How long loading a plugin and a call may take before its process is ended; 10 when left out.",
                    Configuration.Plugins.deadlineRange
                )
            ),
            (
                "question_deadline_seconds",
                SchemaParts.integer(
                    "The same for what somebody waits for: validate, check and decide; 1 when left out.",
                    Configuration.Plugins.questionDeadlineRange
                )
            ),
            (
                "limits",
                SchemaParts.mapping(
                    "What one process may take.",
                    [
                        (
                            "memory_mib",
                            SchemaParts.integer(
                                "Memory for data in MiB; 256 when left out, 0 for no limit.",
                                Configuration.Plugins.memoryRange
                            )
                        ),
                        (
                            "cpu_percent",
                            SchemaParts.integer(
                                "Of one core, on average over ten seconds; no limit when left out, and with 0.",
                                Configuration.Plugins.processorRange
                            )
                        ),
                    ]
                )
            ),
            (
                "sandbox",
                SchemaParts.flag("Whether processes give up files, network and programs; true when left out.")
            ),
            ("program", SchemaParts.text("The program carillon-plugin-host, where it is not installed with carillon.")),
            ("python", SchemaParts.text("The python3 for plugins in Python; the system's when left out.")),
        ]
    }
}
