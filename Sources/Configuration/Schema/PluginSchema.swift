import JSON
import Rules

/// The schema of the block `plugins`.
enum PluginSchema {
    static var schema: JSONValue {
        SchemaParts.mapping(
            "The folders of plugins, and the limits for plugin processes. The plugins that come with Carillon share a process; "
                + "every other plugin has its own.",
            places + processes
        )
    }

    private static var places: [SchemaParts.Member] {
        [
            (
                "folders",
                SchemaParts.oneOrMore(
                    "Searched in this order; the first library of a name is loaded. Default: the plugins installed with "
                        + "the program."
                )
            ),
            (
                "sha256",
                [
                    "description": "SHA-256 checksums by a library's file name: a library that differs is refused.",
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
                SchemaParts.time(
                    "The time limit for loading a plugin and for a call; a process that exceeds it is restarted. Default: 10.",
                    Configuration.Plugins.deadlineRange
                )
            ),
            (
                "question_deadline_seconds",
                SchemaParts.time(
                    "The time limit for synchronous calls: validate, check and decide. Default: 1.",
                    Configuration.Plugins.questionDeadlineRange
                )
            ),
            (
                "limits",
                SchemaParts.mapping(
                    "Limits for one process.",
                    [
                        (
                            "memory_mib",
                            SchemaParts.integer(
                                "Memory for data in MiB; 0: no limit. Default: 256.",
                                Configuration.Plugins.memoryRange
                            )
                        ),
                        (
                            "cpu_percent",
                            SchemaParts.integer(
                                "Percent of one core, on average over ten seconds; 0: no limit. Default: 0.",
                                Configuration.Plugins.processorRange
                            )
                        ),
                    ]
                )
            ),
            (
                "sandbox",
                SchemaParts.flag("Whether processes have no access to files, network and programs. Default: true.")
            ),
            ("program", SchemaParts.text("The path of carillon-plugin-host, if it is not installed with carillon.")),
            ("python", SchemaParts.text("The python3 for plugins in Python. Default: the system's.")),
        ]
    }
}
