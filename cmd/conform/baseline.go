package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/conform-dev/conform/core/report"
)

// known reads the baseline; nil if none is named.
func (f *runFlags) known() (*report.Baseline, error) {
	if f.newBase != "" {
		if _, err := os.Stat(f.newBase); err == nil {
			return nil, usage("--baseline-new: %s is there already", f.newBase)
		}
	}
	if f.baseline == "" {
		return nil, nil
	}
	file, err := os.Open(f.baseline)
	if err != nil {
		return nil, usage("--baseline: %s cannot be read: %v", f.baseline, errors.Unwrap(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, report.MaxBaseline+1))
	if err != nil {
		return nil, usage("--baseline: %s cannot be read: %v", f.baseline, err)
	}
	b, err := report.ParseBaseline(f.baseline, data)
	if err != nil {
		return nil, usage("--baseline: %v", err)
	}
	return b, nil
}

// partly says whether the flags leave something of a subject out: then what was not run says nothing about a baseline.
func (f *runFlags) partly() bool {
	return f.tags != "" || len(f.rows) > 0 || f.scenario != "" || len(f.lanes) > 0 || f.features != ""
}

// starter writes a baseline to be filled in.
func (f *runFlags) starter(run *report.Run) error {
	if f.newBase == "" {
		return nil
	}
	file, err := os.OpenFile(f.newBase, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("the baseline could not be written: %w", err)
	}
	_, err = file.WriteString(report.NewBaseline(run))
	return errors.Join(err, file.Close())
}
