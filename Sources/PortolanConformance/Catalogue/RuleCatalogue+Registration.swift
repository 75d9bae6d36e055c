// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let registration: [ConformanceRule] = [
        .must(
            "REG-01", level: 1,
            "After init, deinit and init again, each start succeeds and gives the same handlers.",
            because: "The host starts a plugin again when its settings change.",
            remedy: "Undo in deinit everything that init did, and leave nothing in static memory that disturbs a second start."),
        .must(
            "REG-02", level: 1,
            "If the host offers no extension, init succeeds or refuses with a message.",
            because: "Extensions are optional. A host may have none.",
            remedy: "Check the result of extension before you use it. If you need the extension, refuse with PORTOLAN_ERROR_NOT_OFFERED."),
        .must(
            "REG-03", level: 2,
            "If init refuses, it leaves nothing behind.",
            because: "The host does not call deinit after a refusal, so nothing frees what is left.",
            remedy: "Free everything that init created before you call give."),
        .must(
            "REG-04", level: 3,
            "Two instances in one process share no state that a caller can see.",
            because: "Two loaders in a program may configure the same plugin differently.",
            remedy: "Keep settings and state in the instance that init returns."),
        .must(
            "REG-05", level: 2,
            "deinit, called after the last load, leaves no thread, file descriptor or timer.",
            because: "A leftover thread or timer runs code of an instance that no longer exists.",
            remedy: "Join threads and close file descriptors in deinit."),
        .must(
            "REG-06", level: 2, needs: .setting,
            "If a setting has the wrong type, init refuses with a message that names the setting.",
            because: "Without the name, the user has to search the whole settings file for the mistake.",
            remedy: "Check the kind of each setting, and put the name of the setting into the message."),
        .must(
            "REG-07", level: 2,
            "The plugin calls no function of the host after deinit has returned.",
            because: "The memory of the host structure is freed by then.",
            remedy: "Before deinit returns, stop every thread that may call the host."),
    ]
}
