// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let registration: [ConformanceRule] = [
        .must(
            "REG-01", level: 1,
            "init, deinit and init again give the same handlers each time, and each start succeeds.",
            because: "A plugin is started again when its settings change.",
            remedy: "Have deinit undo all that init did, and build nothing in static memory that a second start would stumble over."),
        .must(
            "REG-02", level: 1,
            "With a host that offers no extension, init succeeds, or refuses with a text.",
            because: "Extensions are offers; a host may have none.",
            remedy: "Look at what extension returns before using it, and refuse with PORTOLAN_ERROR_NOT_OFFERED where it is needed."),
        .must(
            "REG-03", level: 2,
            "An init that refused leaves nothing behind.",
            because: "deinit is not called after a refusal, so what is left stays for good.",
            remedy: "Free what was made before calling give."),
        .must(
            "REG-04", level: 3,
            "Two instances in one process share no state that a caller can see.",
            because: "Two loaders in a program may set the same plugin up differently.",
            remedy: "Keep settings and state in what init returns."),
        .must(
            "REG-05", level: 2,
            "deinit after the last load leaves no thread, descriptor or timer.",
            because: "What is left runs code of an instance that is gone.",
            remedy: "Join threads and close descriptors in deinit."),
        .must(
            "REG-06", level: 2, needs: .setting,
            "A setting of the wrong type makes init refuse with a message that names it.",
            because: "Otherwise the user searches a typing error in a settings file for an afternoon.",
            remedy: "Check the kind of each setting and put its name into the message."),
        .must(
            "REG-07", level: 2,
            "No function of the host is called after deinit has returned.",
            because: "The host's memory is gone by then.",
            remedy: "Stop every thread that may call it before deinit returns."),
    ]
}
